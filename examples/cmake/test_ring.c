// Each test is an argument: the program succeeds when the ring behaves.
#include <string.h>

#include "ring.h"

static int wraps(void) {
    struct ring* ring = ring_new(2);
    ring_add(ring, "one");
    ring_add(ring, "two");
    ring_add(ring, "three");
    int failed = strcmp(ring_last(ring), "three") != 0;
    ring_free(ring);
    return failed;
}

static int resizes(void) {
    struct ring* ring = ring_new(2);
    ring_add(ring, "one");
    ring_add(ring, "two");
    ring_resize(ring, 4);
    ring_add(ring, "three");
    int failed = strcmp(ring_last(ring), "three") != 0;
    ring_free(ring);
    return failed;
}

int main(int count, char** arguments) {
    const char* test = count > 1 ? arguments[1] : "";
    if (strcmp(test, "wraps") == 0) {
        return wraps();
    }
    return strcmp(test, "resizes") == 0 ? resizes() : 2;
}
