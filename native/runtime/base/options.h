// The options of the run, parsed once from LEAKLINE_OPTIONS by the table in
// format/options.def.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { LL_TEXT_OPTION_MAX = 4096 }; // bytes of a text, with the zero behind it

struct ll_options {
#define OPTION(type, name, initial, help) LL_OPTION_##type(name)
#define LL_OPTION_TEXT(name) const char* name;
#define LL_OPTION_NUMBER(name) uint64_t name;
#define LL_OPTION_SWITCH(name) bool name;
#include "format/options.def"
#undef OPTION
#undef LL_OPTION_TEXT
#undef LL_OPTION_NUMBER
#undef LL_OPTION_SWITCH
};

extern struct ll_options ll_options;

// Parses `text`; unknown keys and bad values leave the default and are counted.
// Returns the number of such mistakes.
unsigned ll_options_parse(const char* text);

// Calls `visit` for each option that differs from its default, as "name=value".
void ll_options_visit_changed(void (*visit)(const char* text));

// True when the list of lenses has that one.
bool ll_options_have_lens(const char* name);
