// Sentences for the recording about what is not seen, with a module's name.
#pragma once
#include <link.h>
#include <stdint.h>

// The path of a module; the loader has none for the program itself.
const char* ll_module_path(const struct dl_phdr_info* info);

// Notes `sentence`, which ends before the name, about a module. `detail` is the verdict
// on its plan, for those who make plans after the run.
void ll_note_about_module(uint32_t reason, uint32_t detail, const char* sentence,
                          const struct dl_phdr_info* info);
