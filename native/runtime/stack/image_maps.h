// Images found from the list of mappings, for a glibc without _dl_find_object.
#pragma once
#include "stack/image.h"

// Remembers what it found until ll_image_maps_forget, since reading the list is slow.
bool ll_image_from_maps(uintptr_t address, struct ll_image* image);

// Images were unloaded.
void ll_image_maps_forget(void);

// The forking thread was the only one to survive.
void ll_image_maps_fork_child(void);
