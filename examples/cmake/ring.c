#include "ring.h"

#include <stdlib.h>
#include <string.h>

struct ring {
    char** lines;
    size_t size;
    size_t next;
};

struct ring* ring_new(size_t lines) {
    struct ring* ring = malloc(sizeof *ring);
    ring->lines = calloc(lines, sizeof *ring->lines);
    ring->size = lines;
    ring->next = 0;
    return ring;
}

void ring_add(struct ring* ring, const char* line) {
    free(ring->lines[ring->next]);
    ring->lines[ring->next] = strdup(line);
    ring->next = (ring->next + 1) % ring->size;
}

static void forget_lines(struct ring* ring) {
    for (size_t line = 0; line < ring->size; line++) {
        free(ring->lines[line]);
    }
}

void ring_resize(struct ring* ring, size_t lines) {
    free(ring->lines); // leaks the lines themselves
    ring->lines = calloc(lines, sizeof *ring->lines);
    ring->size = lines;
    ring->next = 0;
}

const char* ring_last(const struct ring* ring) {
    return ring->lines[(ring->next + ring->size - 1) % ring->size];
}

void ring_free(struct ring* ring) {
    forget_lines(ring);
    free(ring->lines);
    free(ring);
}
