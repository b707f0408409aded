// Hound's HashTable: a table of many objects and a few thousand random probes. The
// program knows exactly when it last touched every block, and writes that down: for
// each block its address and the process CPU time of the last touch in nanoseconds.
// Usage: hash_table OBJECTS PROBES SEED SECONDS TRUTH_FILE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

struct object {
    uint64_t key;
    char payload[24];
};

struct node {
    struct node* next;
    struct object* object;
    uint64_t index; // of the node's entry in the truth
};

// Kept outside the heap, so that it can be written without touching any block.
struct truth {
    uint64_t address;
    uint64_t touched_ns;
};

static struct node** buckets;
static size_t bucket_count;
static struct truth* truth; // of object i at 2i, of its node at 2i + 1

static uint64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void* map(size_t size_bytes) {
    void* start = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
        abort();
    }
    return start;
}

static __attribute__((noipa)) struct object* make_object(uint64_t key) {
    struct object* object = malloc(sizeof *object);
    memset(object, 0, sizeof *object);
    object->key = key;
    return object;
}

static __attribute__((noipa)) struct node* make_node(struct object* object) {
    struct node* node = malloc(sizeof *node);
    node->object = object;
    return node;
}

static struct node** bucket_of(uint64_t key) {
    return &buckets[key * UINT64_C(0x9e3779b97f4a7c15) % bucket_count];
}

static void insert(uint64_t key) {
    struct object* object = make_object(key);
    struct node* node = make_node(object);
    struct node** bucket = bucket_of(key);
    node->index = 2 * key + 1;
    node->next = *bucket;
    *bucket = node;
    uint64_t now = cpu_ns();
    truth[2 * key] = (struct truth){(uint64_t)object, now};
    truth[2 * key + 1] = (struct truth){(uint64_t)node, now};
}

// The time is taken after the touch: what is written down is never too early.
static uint64_t probe(uint64_t key) {
    struct node* node = *bucket_of(key);
    while (node != NULL) {
        struct object* object = node->object;
        uint64_t found = object->key;
        uint64_t index = node->index;
        struct node* next = node->next;
        uint64_t now = cpu_ns();
        truth[index].touched_ns = now;
        truth[index - 1].touched_ns = now;
        if (found == key) {
            return found;
        }
        node = next;
    }
    return 0;
}

static uint64_t next_random(uint64_t* state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void work_until(uint64_t deadline_ns) {
    volatile uint64_t sum = 0;
    while (cpu_ns() < deadline_ns) {
        for (int i = 0; i < 1000; i++) {
            sum += (uint64_t)i;
        }
    }
}

int main(int count, char** arguments) {
    if (count != 6) {
        return 2;
    }
    uint64_t objects = strtoull(arguments[1], NULL, 10);
    uint64_t probes = strtoull(arguments[2], NULL, 10);
    uint64_t random = strtoull(arguments[3], NULL, 10);
    uint64_t work_ns = strtoull(arguments[4], NULL, 10) * 1000000000u;
    bucket_count = objects;
    buckets = map(bucket_count * sizeof *buckets);
    truth = map(2 * objects * sizeof *truth);
    for (uint64_t key = 0; key < objects; key++) {
        insert(key);
    }
    uint64_t started_ns = cpu_ns();
    uint64_t sum = 0;
    for (uint64_t i = 1; i <= probes; i++) {
        sum += probe(next_random(&random) % objects);
        work_until(started_ns + work_ns / probes * i);
    }
    FILE* file = fopen(arguments[5], "wb");
    fwrite(truth, sizeof *truth, 2 * objects, file);
    fclose(file);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
