// Modules that `leakline cc` compiled: they stamp losses themselves, and name the place
// by a descriptor in their own table of sites (format/sites.md). Callers see to it that
// the loss page is mapped while a module is registered.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What the note of a module says, as addresses.
struct ll_sites {
    uintptr_t start; // of the table
    uintptr_t end;
    uint32_t* heap_tag; // by which its code knows pointers to the heap
    // Where the calling thread has what its code hands to functions of the heap.
    const uint64_t* (*find_allocating)(void);
};

// Reads the notes of one loaded segment. False when none of them is ours.
bool ll_sites_read(const void* notes, size_t size_bytes, struct ll_sites* result);

// The module's code stamps from now on. Registering it again counts it as loaded.
void ll_sites_register(const struct ll_sites* sites);

// Between these two calls every module that is still loaded is registered again; the
// others are forgotten.
void ll_sites_begin_census(void);
void ll_sites_end_census(void);

// To be called once, before the process has a second thread.
void ll_sites_lock_clock(void);

// The code of all modules stamps no more.
void ll_sites_withdraw(void);

// True for addresses in the table of a registered module: a descriptor, or one with a
// birth.
bool ll_is_site(uintptr_t address);

// True for those of them that tell of a local variable.
bool ll_is_site_of_variable(uintptr_t address);
