#include "lens/pages_candidates.h"

#include <string.h>

#include "heap/arena.h"

enum {
    PLACES_PER_BLOCK = 4, // in the list, for each block that has to be alive
    FIRST_LISTED = 4,     // births before the first that is listed
    FEW = 8,
    ALL_BIRTHS = 16,     // times the threshold: births that are listed one and all
    LEAST_FOR_SOME = 32, // a lower threshold is always counted exactly
};

static struct ll_arena arena;
static struct ll_lock arena_lock;
// Lists to be used again, by phase, linked by their first place.
static void** unused[LL_CANDIDATES_PHASES];
static unsigned threshold;

bool ll_candidates_start(unsigned live_blocks) {
    threshold = live_blocks > 0 ? live_blocks : 1;
    return ll_arena_start(&arena, (size_t)4 << 30);
}

// Blocks of the list that have to be alive for the next phase.
static uint32_t needed(const struct ll_candidates* candidates) {
    switch (candidates->phase) {
    case LL_CANDIDATES_FEW:
        return FEW < threshold ? FEW : threshold;
    case LL_CANDIDATES_SOME:
        return threshold / LL_CANDIDATES_EVERY;
    default:
        return threshold;
    }
}

static uint32_t place_count(const struct ll_candidates* candidates) {
    return PLACES_PER_BLOCK * needed(candidates);
}

static bool take_list(struct ll_candidates* candidates, uint32_t phase) {
    candidates->phase = phase;
    size_t size = place_count(candidates) * sizeof(void*);
    uint64_t mask = ll_lock_take_masked(&arena_lock);
    void** list = unused[phase];
    if (list != NULL) {
        unused[phase] = *list;
        memset(list, 0, size);
    } else {
        list = ll_arena_take(&arena, size);
    }
    ll_lock_drop_masked(&arena_lock, mask);
    candidates->places = list;
    candidates->count = 0;
    candidates->ask_at = needed(candidates);
    return list != NULL;
}

static void give_list(void** list, uint32_t phase) {
    uint64_t mask = ll_lock_take_masked(&arena_lock);
    *list = unused[phase];
    unused[phase] = list;
    ll_lock_drop_masked(&arena_lock, mask);
}

static uint32_t hash_of(const void* block) {
    uint64_t hash = ((uintptr_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 40);
}

// Lists a block; it may be listed already, if it lies where a block of the same context
// lay before. Without a place nearby it is left out.
static void list(struct ll_candidates* candidates, void* block, const void* context,
                 ll_candidate_test* is_alive) {
    enum { NEARBY = 4 };
    uint32_t size = place_count(candidates);
    for (uint32_t i = 0; i < NEARBY; i++) {
        void** place = &candidates->places[(hash_of(block) + i) % size];
        if (*place == block) {
            return;
        }
        if (*place == NULL) {
            candidates->count++;
        }
        if (*place == NULL || !is_alive(context, *place)) {
            *place = block;
            return;
        }
    }
}

static void forget_freed(struct ll_candidates* candidates, const void* context,
                         ll_candidate_test* is_alive) {
    for (uint32_t i = 0; i < place_count(candidates); i++) {
        void** place = &candidates->places[i];
        if (*place != NULL && !is_alive(context, *place)) {
            *place = NULL;
            candidates->count--;
        }
    }
}

// When too few are alive, the next question waits for some more, since it takes time.
static bool are_enough(struct ll_candidates* candidates, const void* context,
                       ll_candidate_test* is_alive) {
    if (candidates->count < candidates->ask_at) {
        return false;
    }
    forget_freed(candidates, context, is_alive);
    uint32_t wanted = needed(candidates);
    uint32_t later = candidates->count + (wanted + 3) / 4;
    candidates->ask_at = later > wanted ? later : wanted;
    return candidates->count >= wanted;
}

// Goes on with a list of another size; what lives is listed there, too.
static void change_phase(struct ll_candidates* candidates, uint32_t phase,
                         const void* context, ll_candidate_test* is_alive) {
    struct ll_candidates before = *candidates;
    if (!take_list(candidates, phase)) {
        *candidates = before;
        return;
    }
    for (uint32_t i = 0; phase == LL_CANDIDATES_ALL && i < place_count(&before); i++) {
        if (before.places[i] != NULL) {
            list(candidates, before.places[i], context, is_alive);
        }
    }
    if (before.places != NULL) {
        give_list(before.places, before.phase);
    }
}

// A context with many births is asked about some of its blocks from then on.
static uint32_t due_phase(const struct ll_candidates* candidates) {
    uint32_t phase = candidates->phase;
    if (threshold >= LEAST_FOR_SOME && candidates->born > ALL_BIRTHS * threshold) {
        return LL_CANDIDATES_SOME;
    }
    return phase == LL_CANDIDATES_NONE ? (uint32_t)LL_CANDIDATES_FEW : phase;
}

static bool note(struct ll_candidates* candidates, void* block, const void* context,
                 ll_candidate_test* is_alive) {
    uint32_t phase = due_phase(candidates);
    if (phase != candidates->phase) {
        change_phase(candidates, phase, context, is_alive);
    }
    if (candidates->places == NULL) {
        return false;
    }
    list(candidates, block, context, is_alive);
    if (!are_enough(candidates, context, is_alive)) {
        return false;
    }
    if (candidates->phase == LL_CANDIDATES_FEW && needed(candidates) < threshold) {
        change_phase(candidates, LL_CANDIDATES_ALL, context, is_alive);
        return false;
    }
    give_list(candidates->places, candidates->phase);
    candidates->places = NULL;
    return true;
}

// The count of births need not be exact.
bool ll_candidates_born(struct ll_candidates* candidates, void* block,
                        const void* context, ll_candidate_test* is_alive) {
    uint32_t born = __atomic_load_n(&candidates->born, __ATOMIC_RELAXED) + 1;
    uint32_t phase = __atomic_load_n(&candidates->phase, __ATOMIC_RELAXED);
    __atomic_store_n(&candidates->born, born, __ATOMIC_RELAXED);
    bool is_passed_over = phase == LL_CANDIDATES_SOME ? born % LL_CANDIDATES_EVERY != 0
                                                      : born <= FIRST_LISTED;
    if (is_passed_over || !ll_lock_try(&candidates->lock)) {
        return false;
    }
    bool result = note(candidates, block, context, is_alive);
    ll_lock_drop(&candidates->lock);
    return result;
}
