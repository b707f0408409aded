// A library that test_stack_modules loads, unloads and replaces by plugin_first.
void plugin_call(void (*function)(void));

enum { FRAME_BYTES = 3000 };

// Without sanitizers, whose code would differ from the other library's.
__attribute__((visibility("default"), no_sanitize("address", "undefined"))) void
plugin_call(void (*function)(void)) {
    volatile char space[FRAME_BYTES];
    space[0] = 1;
    function();
    space[FRAME_BYTES - 1] = space[0];
}
