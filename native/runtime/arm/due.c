#include "arm/due.h"

#include "os/memory.h"

bool ll_due_start(struct ll_due* due, size_t capacity) {
    due->heap = ll_memory_map(capacity * sizeof(struct ll_arm_record*));
    due->capacity = due->heap == NULL ? 0 : capacity;
    due->count = 0;
    return due->heap != NULL;
}

// One that finds no room stays disarmed; there is room for every place.
void ll_due_add(struct ll_due* due, struct ll_arm_record* record) {
    if (due->count == due->capacity) {
        return;
    }
    size_t at = due->count++;
    while (at > 0 && due->heap[(at - 1) / 2]->time > record->time) {
        due->heap[at] = due->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    due->heap[at] = record;
}

struct ll_arm_record* ll_due_first(const struct ll_due* due) {
    return due->count > 0 ? due->heap[0] : NULL;
}

struct ll_arm_record* ll_due_take(struct ll_due* due) {
    struct ll_arm_record* first = ll_due_first(due);
    if (first == NULL) {
        return NULL;
    }
    struct ll_arm_record* last = due->heap[--due->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= due->count) {
            break;
        }
        if (child + 1 < due->count &&
            due->heap[child + 1]->time < due->heap[child]->time) {
            child++;
        }
        if (due->heap[child]->time >= last->time) {
            break;
        }
        due->heap[at] = due->heap[child];
        at = child;
    }
    due->heap[at] = last;
    return first;
}
