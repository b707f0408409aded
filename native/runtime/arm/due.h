// Sites that wait to be armed again, the one that is due first in front.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "arm/record.h"

struct ll_due {
    struct ll_arm_record** heap; // a binary heap by `time`
    size_t count;
    size_t capacity;
};

bool ll_due_start(struct ll_due* due, size_t capacity);
void ll_due_add(struct ll_due* due, struct ll_arm_record* record);

// The first one, or NULL; and takes it out.
struct ll_arm_record* ll_due_first(const struct ll_due* due);
struct ll_arm_record* ll_due_take(struct ll_due* due);
