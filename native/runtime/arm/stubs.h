// The pages around a module that its armed sites jump to.
#pragma once
#include <stdbool.h>

#include "arm/record.h"

// Maps the gates. False when not even they find room.
bool ll_stubs_start(struct ll_arm_module* module);

// Maps the stubs of entries, and keeps those of sites at hand. False, and nothing is
// mapped, when there is no room for them.
bool ll_stubs_map_lazily(struct ll_arm_module* module);

// Takes that back, before any stub is mapped.
void ll_stubs_let_lazy_go(struct ll_arm_module* module);

// Maps all stubs of sites, as far as they find room.
void ll_stubs_map_all(struct ll_arm_module* module);

void ll_stubs_unmap(struct ll_arm_module* module);

// True when all stubs of the site are in place; those that were not wanted before are
// mapped for it. For one thread at a time.
bool ll_stubs_get(struct ll_arm_module* module, const struct ll_arm_site* site);

// Gives back the pages of entries that ran.
void ll_stubs_let_entries_go(const struct ll_arm_module* module);

// What a place keeps as `other_page` of a site of the plan. One will do: few have more.
int32_t ll_stub_other_page(const struct ll_arm_plan* plan,
                           const struct ll_arm_site* site);

// The stub of a place has run and is not needed for a while. Its page is given back by
// the next call of `ll_stubs_give_back`; when it runs again it comes from its file.
// Both for holders of the scheduler's lock.
void ll_stub_let_go(const struct ll_arm_place* place);
void ll_stubs_give_back(void);
