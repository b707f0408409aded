// Loses a block and suppresses the report of it, as programs built for LeakSanitizer
// do.
#include <stdlib.h>

const char* __lsan_default_suppressions(void);
const char* __lsan_default_suppressions(void) {
    return "leak:lose_known_block\n";
}

static void lose_known_block(void) {
    char* volatile block = malloc(100);
    block = NULL;
    (void)block;
}

int main(void) {
    lose_known_block();
    return 0;
}
