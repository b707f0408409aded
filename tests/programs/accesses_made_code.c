// A program that makes code while it runs, as a just-in-time compiler does.
#include <string.h>
#include <sys/mman.h>

int main(void) {
    static const unsigned char answer[] = {0xb8, 42, 0, 0, 0, 0xc3};
    void* code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, answer, sizeof answer);
    if (mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0) {
        return 1;
    }
    int (*function)(void);
    memcpy(&function, &code, sizeof function);
    return function() == 42 ? 0 : 2;
}
