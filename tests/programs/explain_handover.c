// Leaks whose remedy depends on what other functions and other paths do with the block.

#include <stdio.h>
#include <stdlib.h>

struct ring {
    int* slots;
    size_t size;
};

static struct ring* ring_open(size_t size) {
    struct ring* ring = malloc(sizeof *ring);
    if (ring == NULL) {
        return NULL;
    }
    ring->slots = calloc(size, sizeof *ring->slots);
    ring->size = size;
    return ring;
}

static void ring_close(struct ring* ring) {
    free(ring->slots);
    free(ring);
}

static void show(const struct ring* ring) {
    printf("%zu slots\n", ring->size);
}

// Takes the ring over, if it can be sent.
static int send_away(struct ring* ring, int socket) {
    if (socket < 0) {
        return -1;
    }
    printf("%d %d\n", socket, ring->slots[0]);
    ring_close(ring);
    return 0;
}

int send_or_lose(int socket) {
    struct ring* ring = ring_open(8);
    if (ring == NULL) {
        return -1;
    }
    show(ring);
    if (send_away(ring, socket) != 0) {
        return -1;
    }
    return 0;
}

int release_on_one_path(int mode) {
    char* text = malloc(16);
    if (mode == 1) {
        free(text);
    } else {
        puts("kept");
    }
    return mode;
}

int release_nowhere(int mode) {
    char* text = malloc(16);
    printf("%d\n", mode);
    return text != NULL;
}

int main(int argc, char** argv) {
    struct ring* ring = ring_open(4);
    if (ring != NULL) {
        ring_close(ring);
    }
    int sum = send_or_lose(argv[argc] == NULL ? -1 : 1);
    return sum + release_on_one_path(argc) + release_nowhere(argc) > 99;
}
