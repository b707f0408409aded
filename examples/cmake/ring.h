// A ring of text lines that keeps the last ones.
#pragma once
#include <stddef.h>

struct ring;

struct ring* ring_new(size_t lines);
void ring_add(struct ring* ring, const char* line);
// Changes how many lines are kept; all lines are forgotten.
void ring_resize(struct ring* ring, size_t lines);
const char* ring_last(const struct ring* ring);
void ring_free(struct ring* ring);
