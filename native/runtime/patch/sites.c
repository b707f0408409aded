#include "patch/sites.h"

#include <elf.h>
#include <string.h>

#include "base/attributes.h"
#include "patch/loss_page.h"

enum { MODULES_MAX = 512, NOTE_TYPE = 4 };

// What code that stamps finds beside the clock; 0: one thread.
enum { MODE_THREADS = 1 };

// Format: sites.md. Distances are relative to the field's own place.
struct descriptor {
    int32_t file;
    int32_t function;
    int32_t variable;
    uint32_t line;  // 0: out of use
    int32_t births; // 0: none, as of slots in memory
    uint16_t column;
    uint8_t cause;
    uint8_t reserved[9];
};
_Static_assert(sizeof(struct descriptor) == 32, "as in format/sites.md");

enum { CAUSE_OVERWRITTEN = 1 };

static const char note_name[] = "Leakline";

struct registered {
    struct ll_sites sites;
    uint32_t idle_tag; // what the module had before
    bool is_loaded;
};

static LL_BULK struct registered modules[MODULES_MAX];
static size_t module_count;
static bool is_locked; // the process has had threads

// A distance in the note is relative to its own place.
static uintptr_t follow(const int32_t* distance) {
    int32_t value;
    memcpy(&value, distance, sizeof value);
    return (uintptr_t)distance + (uintptr_t)(intptr_t)value;
}

bool ll_sites_read(const void* notes, size_t size_bytes, struct ll_sites* result) {
    const char* at = notes;
    const char* end = at + size_bytes;
    while ((size_t)(end - at) >= sizeof(Elf64_Nhdr)) {
        const Elf64_Nhdr* note = (const Elf64_Nhdr*)at;
        const char* name = at + sizeof *note;
        size_t name_bytes = (note->n_namesz + (size_t)3) & ~(size_t)3;
        size_t content_bytes = (note->n_descsz + (size_t)3) & ~(size_t)3;
        if (name_bytes + content_bytes > (size_t)(end - name)) {
            return false;
        }
        const int32_t* content = (const int32_t*)(name + name_bytes);
        if (note->n_type == NOTE_TYPE && note->n_namesz == sizeof note_name &&
            note->n_descsz == 4 * sizeof *content &&
            memcmp(name, note_name, sizeof note_name) == 0) {
            *result = (struct ll_sites){
                .start = follow(content),
                .end = follow(content + 1),
                .heap_tag = (uint32_t*)follow(content + 2),
                .find_allocating = (const uint64_t* (*)(void))follow(content + 3)};
            return true;
        }
        at = (const char*)content + content_bytes;
    }
    return false;
}

static struct registered* find(uintptr_t start) {
    for (size_t i = 0; i < module_count; i++) {
        if (modules[i].sites.start == start) {
            return &modules[i];
        }
    }
    return NULL;
}

// Code that stamps by itself must not be half-way through.
static void lock_clock(void) {
    struct ll_loss_page* page = ll_loss_page();
    *(volatile uint32_t*)&page->mode = MODE_THREADS;
    ll_loss_page_forget_contexts(page);
}

void ll_sites_register(const struct ll_sites* sites) {
    struct registered* known = find(sites->start);
    if (known != NULL && *sites->heap_tag == LL_HEAP_TAG) {
        known->is_loaded = true;
        return;
    }
    if (known == NULL) {
        known = find(0);
    }
    if (known == NULL) {
        if (module_count == MODULES_MAX) {
            return;
        }
        known = &modules[module_count++];
    }
    *known = (struct registered){
        .sites = *sites, .idle_tag = *sites->heap_tag, .is_loaded = true};
    if (is_locked) {
        lock_clock();
    }
    *sites->heap_tag = LL_HEAP_TAG;
}

void ll_sites_begin_census(void) {
    for (size_t i = 0; i < module_count; i++) {
        modules[i].is_loaded = false;
    }
}

void ll_sites_end_census(void) {
    for (size_t i = 0; i < module_count; i++) {
        if (!modules[i].is_loaded) {
            modules[i] = (struct registered){0};
        }
    }
}

void ll_sites_lock_clock(void) {
    if (!is_locked && module_count > 0) {
        lock_clock();
    }
    is_locked = true;
}

void ll_sites_withdraw(void) {
    for (size_t i = 0; i < module_count; i++) {
        if (modules[i].sites.start != 0) {
            *modules[i].sites.heap_tag = modules[i].idle_tag;
        }
    }
    module_count = 0;
}

// The table that an address lies in; NULL if it lies in none.
static const struct ll_sites* table_of(uintptr_t address) {
    for (size_t i = 0; i < module_count; i++) {
        const struct ll_sites* sites = &modules[i].sites;
        if (sites->start <= address && address < sites->end) {
            return sites;
        }
    }
    return NULL;
}

bool ll_is_site(uintptr_t address) {
    return table_of(address) != NULL;
}

// A number of a birth may reach behind its descriptor, into such that are out of use.
bool ll_is_site_of_variable(uintptr_t address) {
    const struct ll_sites* table = table_of(address);
    if (table == NULL) {
        return false;
    }
    const struct descriptor* site =
        (const struct descriptor*)(address & -sizeof(struct descriptor));
    while (site->line == 0 && (uintptr_t)site > table->start) {
        site--;
    }
    return site->births != 0 || site->cause != CAUSE_OVERWRITTEN;
}
