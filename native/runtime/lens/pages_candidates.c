#include "lens/pages_candidates.h"

#include <string.h>

#include "heap/arena.h"
#include "os/alone.h"

enum {
    PLACES_PER_BLOCK = 2, // in the list, for each block that has to be alive
    FEW = 4,             // blocks wanted by the first list: most contexts need no other
    ALL_BIRTHS = 4,      // times the threshold: births that are listed one and all
    LEAST_FOR_SOME = 32, // a lower threshold is always counted exactly
    LIST_SIZES = 32,
    GRANULE_SHIFT = 4,
};

// A place holds the lower bits of an address, so that lists are half as long; the rest
// is that of the block that was born last. In a heap of more than 64 GiB some are taken
// for others, and more blocks have to live until there are enough.
static const uintptr_t place_bits = UINT32_MAX;

static struct ll_arena arena;
static struct ll_lock arena_lock;
// Lists to be used again, by the logarithm of their length, linked by two places each.
static uint32_t* unused[LIST_SIZES];
static unsigned threshold;

bool ll_candidates_start(unsigned live_blocks) {
    threshold = live_blocks > 0 ? live_blocks : 1;
    return ll_arena_start(&arena, (size_t)4 << 30);
}

static unsigned list_size(uint32_t wanted) {
    uint32_t least = PLACES_PER_BLOCK * (wanted > 1 ? wanted : 2);
    return 32 - (unsigned)__builtin_clz(least - 1);
}

static uint32_t place_count(const struct ll_candidates* candidates) {
    return (uint32_t)1 << list_size(candidates->wanted);
}

static bool take_list(struct ll_candidates* candidates, uint32_t wanted) {
    unsigned size = list_size(wanted);
    uint64_t mask = ll_lock_take_masked(&arena_lock);
    uint32_t* list = unused[size];
    if (list != NULL) {
        memcpy(&unused[size], list, sizeof list);
        memset(list, 0, sizeof *list << size);
    } else {
        list = ll_arena_take(&arena, sizeof *list << size);
    }
    ll_lock_drop_masked(&arena_lock, mask);
    if (list != NULL) {
        candidates->places = list;
        candidates->count = 0;
        candidates->wanted = wanted;
        candidates->ask_at = wanted;
    }
    return list != NULL;
}

static void give_list(uint32_t* list, uint32_t wanted) {
    unsigned size = list_size(wanted);
    uint64_t mask = ll_lock_take_masked(&arena_lock);
    memcpy(list, &unused[size], sizeof list);
    unused[size] = list;
    ll_lock_drop_masked(&arena_lock, mask);
}

static uint32_t place_of(uintptr_t block) {
    return (uint32_t)(block >> GRANULE_SHIFT);
}

static void* block_at(uint32_t place, uintptr_t near) {
    uintptr_t upper = near & ~(place_bits << GRANULE_SHIFT);
    return (void*)(upper | (uintptr_t)place << GRANULE_SHIFT);
}

// A birth, and how to tell who is alive.
struct birth {
    uintptr_t block;
    const void* context;
    ll_candidate_test* is_alive;
};

static bool is_alive(const struct birth* birth, uint32_t place) {
    return birth->is_alive(birth->context, block_at(place, birth->block));
}

// Lists a block; it may be listed already, if it lies where a block of the same context
// lay before. Without a place nearby it is left out.
static void list(struct ll_candidates* candidates, uint32_t listed,
                 const struct birth* birth) {
    enum { NEARBY = 8 };
    uint32_t mask = place_count(candidates) - 1;
    uint32_t hash = (uint32_t)(listed * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (uint32_t i = 0; i < NEARBY; i++) {
        uint32_t* place = &candidates->places[(hash + i) & mask];
        if (*place == listed) {
            return;
        }
        candidates->count += *place == 0;
        if (*place == 0 || !is_alive(birth, *place)) {
            *place = listed;
            return;
        }
    }
}

static void forget_freed(struct ll_candidates* candidates, const struct birth* birth) {
    for (uint32_t i = 0; i < place_count(candidates); i++) {
        uint32_t* place = &candidates->places[i];
        if (*place != 0 && !is_alive(birth, *place)) {
            *place = 0;
            candidates->count--;
        }
    }
}

// Goes on with a list of another length; what is listed is so there, too.
static void change_list(struct ll_candidates* candidates, uint32_t wanted,
                        const struct birth* birth) {
    struct ll_candidates before = *candidates;
    if (!take_list(candidates, wanted)) {
        return;
    }
    for (uint32_t i = 0; i < place_count(&before); i++) {
        if (before.places[i] != 0) {
            list(candidates, before.places[i], birth);
        }
    }
    give_list(before.places, before.wanted);
}

// A context with many births is asked about some of its blocks from then on.
static void begin_sample(struct ll_candidates* candidates) {
    struct ll_candidates before = *candidates;
    if (take_list(candidates, threshold / LL_CANDIDATES_EVERY)) {
        candidates->is_sampled = true;
        if (before.places != NULL) {
            give_list(before.places, before.wanted);
        }
    }
}

static bool has_list(struct ll_candidates* candidates) {
    if (!candidates->is_sampled && threshold >= LEAST_FOR_SOME &&
        candidates->born > ALL_BIRTHS * threshold) {
        begin_sample(candidates);
    }
    return candidates->places != NULL ||
           take_list(candidates, FEW < threshold ? FEW : threshold);
}

// When too few are alive, the next question waits for some more, since it takes time;
// when hardly any is, a shorter list does.
static void wait_for_more(struct ll_candidates* candidates, const struct birth* birth) {
    uint32_t wanted = candidates->wanted;
    if (candidates->count < wanted / 4 && wanted > FEW && !candidates->is_sampled) {
        change_list(candidates, wanted / 2, birth);
    } else {
        uint32_t later = candidates->count + (wanted + 3) / 4;
        candidates->ask_at = later > wanted ? later : wanted;
    }
}

static bool note(struct ll_candidates* candidates, const struct birth* birth) {
    if (!has_list(candidates)) {
        return false;
    }
    list(candidates, place_of(birth->block), birth);
    if (candidates->count < candidates->ask_at) {
        return false;
    }
    forget_freed(candidates, birth);
    uint32_t wanted = candidates->wanted;
    if (candidates->count < wanted) {
        wait_for_more(candidates, birth);
        return false;
    }
    if (!candidates->is_sampled && wanted < threshold) {
        change_list(candidates, 2 * wanted < threshold ? 2 * wanted : threshold, birth);
        return false;
    }
    give_list(candidates->places, wanted);
    candidates->places = NULL;
    return true;
}

bool ll_candidates_list(struct ll_candidates* candidates, void* block,
                        const void* context, ll_candidate_test* test) {
    struct birth birth = {(uintptr_t)block, context, test};
    if (!ll_lock_try_among_threads(&candidates->lock)) {
        return false;
    }
    bool result = note(candidates, &birth);
    ll_lock_drop_unwaited(&candidates->lock);
    return result;
}
