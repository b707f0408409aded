// Calls that the kernel refuses to a process with several threads.
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    int result = unshare(CLONE_NEWUSER);
    printf("%d %s\n", result, result == 0 ? "" : strerror(errno));
    result = unshare(CLONE_FS);
    printf("%d %s\n", result, result == 0 ? "" : strerror(errno));
    return 0;
}
