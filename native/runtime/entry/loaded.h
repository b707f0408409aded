// The modules of the process, as the loader lists them, for those who change their
// code.
#pragma once
#include <link.h>
#include <stdbool.h>

#include "patch/patch.h"

struct ll_patch_target ll_loaded_describe(const struct dl_phdr_info* info);

// True for code that nobody may change: our own, whose accesses must stay undisturbed,
// the loader, which is running, and the kernel's.
bool ll_loaded_is_left_alone(const struct dl_phdr_info* info,
                             const struct ll_patch_target* target);
