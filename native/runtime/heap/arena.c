// Growth of the heap's own tables.
#include "heap/arena.h"

#include "heap/classes.h"
#include "os/memory.h"

bool ll_arena_start(struct ll_arena* arena, size_t limit_bytes) {
    arena->start = ll_memory_reserve(NULL, limit_bytes);
    arena->limit_bytes = limit_bytes;
    return arena->start != NULL;
}

void ll_arena_start_at(struct ll_arena* arena, char* start, size_t limit_bytes,
                       size_t twin_distance) {
    arena->start = start;
    arena->limit_bytes = limit_bytes;
    arena->twin_distance = twin_distance;
}

// The twin need not begin at the start of a page, and so has one page more.
static bool commit_twin(const struct ll_arena* arena, size_t step_bytes) {
    if (arena->twin_distance == 0) {
        return true;
    }
    char* first_page =
        arena->start + (arena->twin_distance & ~(size_t)(LL_PAGE_SIZE - 1));
    if (arena->committed_bytes == 0) {
        return ll_memory_commit(first_page, step_bytes + LL_PAGE_SIZE);
    }
    return ll_memory_commit(first_page + LL_PAGE_SIZE + arena->committed_bytes,
                            step_bytes);
}

static bool commit(struct ll_arena* arena, size_t step_bytes) {
    if (step_bytes > arena->limit_bytes - arena->committed_bytes ||
        !commit_twin(arena, step_bytes) ||
        !ll_memory_commit(arena->start + arena->committed_bytes, step_bytes)) {
        return false;
    }
    arena->committed_bytes += step_bytes;
    return true;
}

void* ll_arena_take(struct ll_arena* arena, size_t size_bytes) {
    size_t free_bytes = arena->committed_bytes - arena->used_bytes;
    if (size_bytes > free_bytes) {
        size_t missing = size_bytes - free_bytes;
        if (!commit(arena, ll_arena_step(arena->committed_bytes, missing)) &&
            !commit(arena, ll_arena_step(0, missing))) {
            return NULL;
        }
    }
    void* result = arena->start + arena->used_bytes;
    arena->used_bytes += size_bytes;
    return result;
}

size_t ll_arena_step(size_t size_bytes, size_t needed_bytes) {
    enum { STEP_MAX = 64 << 20 };
    size_t step = size_bytes / 8;
    step = step > STEP_MAX ? STEP_MAX : step;
    step = step > needed_bytes ? step : needed_bytes;
    return (step + LL_UNIT_SIZE - 1) & ~(size_t)(LL_UNIT_SIZE - 1);
}
