// Gives places to sites when they are first touched: most never are.
#pragma once
#include <stdbool.h>

#include "arm/record.h"

bool ll_places_start(void);

// The record of a site, made when it is new; NULL when there is no more room. Safe in
// any thread and signal handler.
struct ll_arm_record* ll_place_record(struct ll_arm_module* module, uint32_t site);

// Calls `visit` with the places from number `first` on whose modules are loaded.
void ll_places_visit(uint32_t first, void (*visit)(const struct ll_arm_place* place,
                                                   struct ll_arm_record* record));
