// The count of blocks that are alive at one time: with no frees, with short lives, and
// with a few long lives among many short ones.
#include "lens/pages_candidates.h"

#include <string.h>

#include "check.h"

enum { BLOCKS = 1 << 16, THRESHOLD = 64 };

static bool alive[BLOCKS];
static char memory[BLOCKS * 16];
static const int context;

static bool is_alive(const void* of_context, void* block) {
    CHECK(of_context == &context);
    return alive[((char*)block - memory) / 16];
}

static bool bear(struct ll_candidates* candidates, int block) {
    alive[block] = true;
    return ll_candidates_count_birth(candidates) &&
           ll_candidates_list(candidates, memory + block * 16, &context, is_alive);
}

// The first few births are not listed.
static void blocks_that_all_live_are_enough_at_once(void) {
    struct ll_candidates candidates = {0};
    int born = 0;
    while (!bear(&candidates, born)) {
        born++;
    }
    CHECK(born + 1 >= THRESHOLD);
    CHECK(born + 1 <= THRESHOLD + 4);
    CHECK(candidates.places == NULL);
}

static void short_lives_are_never_enough(void) {
    struct ll_candidates candidates = {0};
    for (int i = 0; i < 200000; i++) {
        CHECK(!bear(&candidates, i % BLOCKS));
        if (i >= 32) {
            alive[(i - 32) % BLOCKS] = false;
        }
    }
}

// One block in fifty lives on. With a sample of one in eight, 64 are about 64.
static void a_slow_leak_is_noticed(void) {
    struct ll_candidates candidates = {0};
    int living = 0;
    for (int i = 0; i < BLOCKS && !bear(&candidates, i); i++) {
        alive[i] = i % 49 == 0;
        living += alive[i];
    }
    CHECK(living >= THRESHOLD / 2);
    CHECK(living <= THRESHOLD * 3);
}

int main(void) {
    CHECK(ll_candidates_start(THRESHOLD));
    blocks_that_all_live_are_enough_at_once();
    memset(alive, 0, sizeof alive);
    short_lives_are_never_enough();
    memset(alive, 0, sizeof alive);
    a_slow_leak_is_noticed();
    return failures != 0;
}
