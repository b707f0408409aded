// Allocation before main, from constructors, and after it, from exit handlers and
// destructors.
#include "corpus.h"

static void* from_constructor;
static void* from_destructor;

CASE void constructor_bad(void) {
    KEEP(malloc(80));
}

CASE void constructor_ok(void) {
    from_constructor = malloc(81);
}

CASE void exit_handler_bad(void) {
    KEEP(malloc(82));
}

CASE void freed_in_exit_handler_ok(void) {
    free(from_constructor);
    from_constructor = malloc(83);
}

CASE void destructor_bad(void) {
    KEEP(malloc(84));
}

CASE void destructor_ok(void) {
    free(from_constructor);
    from_destructor = malloc(85);
    KEEP(&from_destructor);
}

__attribute__((constructor)) static void construct(void) {
    constructor_bad();
    constructor_ok();
}

__attribute__((destructor)) static void destroy(void) {
    destructor_bad();
    destructor_ok();
}

static void at_exit(void) {
    exit_handler_bad();
    freed_in_exit_handler_ok();
}

int main(void) {
    atexit(at_exit);
    scrub();
    return 0;
}
