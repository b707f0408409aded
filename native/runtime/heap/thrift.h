// How many dirty free units to keep: enough that a program which frees and allocates in
// turns does not give its pages away only to get them back one fault at a time, and few
// enough that one which has become small is small. Callers hold the lock of the units.
#pragma once
#include <stddef.h>

// Dirty units that may stay, with that many units in use.
size_t ll_thrift_kept_units(size_t used_units);

// Units went back to the system; units of zeroed pages were taken again. If that
// happens soon, giving them back was a mistake, and as many more are kept for a while.
void ll_thrift_note_purged(size_t unit_count);
void ll_thrift_note_taken(size_t unit_count);

// The program has asked for its unused pages to be returned.
void ll_thrift_forget(void);
