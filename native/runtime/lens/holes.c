#include "lens/holes.h"

#include <string.h>

#include "os/memory.h"

void ll_holes_add(struct ll_holes* holes, struct ll_hole hole) {
    if (holes->count == holes->capacity) {
        size_t page = LL_PAGE_SIZE / sizeof hole;
        size_t capacity = holes->capacity == 0 ? page : holes->capacity * 2;
        struct ll_hole* list = ll_memory_map(capacity * sizeof hole);
        if (list == NULL) {
            return;
        }
        size_t count = holes->count;
        if (count > 0) {
            memcpy(list, holes->list, count * sizeof hole);
        }
        ll_holes_release(holes);
        *holes = (struct ll_holes){.list = list, .count = count, .capacity = capacity};
    }
    if (hole.start < hole.end) {
        holes->list[holes->count++] = hole;
    }
}

// Shell sort: in place, and quick for the thousands of threads a process may have.
void ll_holes_sort(struct ll_holes* holes) {
    for (size_t step = holes->count / 2; step > 0; step /= 2) {
        for (size_t i = step; i < holes->count; i++) {
            struct ll_hole moved = holes->list[i];
            size_t at = i;
            for (; at >= step && holes->list[at - step].start > moved.start;
                 at -= step) {
                holes->list[at] = holes->list[at - step];
            }
            holes->list[at] = moved;
        }
    }
}

void ll_holes_release(struct ll_holes* holes) {
    if (holes->list != NULL) {
        ll_memory_unmap(holes->list, holes->capacity * sizeof *holes->list);
    }
    memset(holes, 0, sizeof *holes);
}

static bool counts(const struct ll_hole* hole, const struct ll_searched* mapping) {
    if (hole->end <= mapping->start || hole->start >= mapping->end) {
        return false;
    }
    switch (hole->condition) {
    case LL_HOLE_BEHIND_GUARD:
        return mapping->guarded && hole->start <= mapping->start;
    case LL_HOLE_IN_MAIN_STACK:
        return mapping->main_stack && hole->end < mapping->end;
    default:
        return true;
    }
}

bool ll_holes_next_gap(const struct ll_holes* holes, const struct ll_searched* mapping,
                       uintptr_t from, uintptr_t* gap_start, uintptr_t* gap_end) {
    uintptr_t start = from;
    uintptr_t end = mapping->end;
    for (size_t i = 0; i < holes->count && holes->list[i].start < end; i++) {
        const struct ll_hole* hole = &holes->list[i];
        if (!counts(hole, mapping) || hole->end <= start) {
            continue;
        }
        if (hole->start > start) {
            end = hole->start;
        } else {
            start = hole->end;
        }
    }
    *gap_start = start;
    *gap_end = end;
    return start < end;
}
