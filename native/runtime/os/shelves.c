#include "os/shelves.h"

#include <fcntl.h>
#include <string.h>

#include "os/backing.h"
#include "os/file.h"
#include "os/memory.h"

enum {
    SHELVES_MAX = 1 << 16,
    TABLE_STEP = 1 << 16,
    // A merged page may cut a mapping in three, and a quarter of all is ours.
    MAPPINGS_PER_PAGE = 2,
    SHARE_OF_MAPPINGS = 4,
};

static const size_t range_bytes = (size_t)1 << LL_RANGE_SHIFT;

static uint32_t* shelf_of; // by page of the range, 0: none; NULL: off
static size_t table_bytes; // of it that is there
static struct ll_shelf* shelves;
static uint32_t shelf_end = 1; // numbers from here on were never used
static struct ll_shelves_totals totals;
static size_t budget;

bool ll_granules_overlap(const struct ll_granules* one,
                         const struct ll_granules* other) {
    uint64_t both = 0;
    for (int i = 0; i < LL_GRANULES / 64; i++) {
        both |= one->bits[i] & other->bits[i];
    }
    return both != 0;
}

unsigned ll_granules_count(const struct ll_granules* granules) {
    unsigned count = 0;
    for (int i = 0; i < LL_GRANULES / 64; i++) {
        count += (unsigned)__builtin_popcountll(granules->bits[i]);
    }
    return count;
}

static size_t most_mappings(void) {
    char text[32] = "";
    int file = ll_file_open("/proc/sys/vm/max_map_count", O_RDONLY);
    size_t number = 0;
    if (file >= 0) {
        (void)ll_file_read(file, text, sizeof text - 1);
        ll_file_close(file);
    }
    for (const char* digit = text; *digit >= '0' && *digit <= '9'; digit++) {
        number = number * 10 + (size_t)(*digit - '0');
    }
    return number;
}

bool ll_shelves_start(void) {
    size_t size = (range_bytes >> LL_PAGE_SHIFT) * sizeof *shelf_of;
    shelves = ll_memory_map(SHELVES_MAX * sizeof *shelves);
    uint32_t* table = ll_memory_reserve(NULL, size);
    if (shelves == NULL || table == NULL) {
        return false;
    }
    budget = most_mappings() / SHARE_OF_MAPPINGS / MAPPINGS_PER_PAGE;
    shelf_of = table;
    return true;
}

size_t ll_shelves_budget(void) {
    return budget;
}

struct ll_shelves_totals ll_shelves_totals(void) {
    return totals;
}

static uint32_t number_of(uintptr_t address) {
    return (uint32_t)((address & (range_bytes - 1)) >> LL_PAGE_SHIFT);
}

static uint32_t get(uintptr_t address) {
    size_t number = number_of(address);
    return number * sizeof *shelf_of < __atomic_load_n(&table_bytes, __ATOMIC_ACQUIRE)
               ? __atomic_load_n(&shelf_of[number], __ATOMIC_RELAXED)
               : 0;
}

bool ll_shelves_is_merged(uintptr_t address) {
    return get(address) != 0;
}

const struct ll_shelf* ll_shelves_get(uint32_t number) {
    return number < shelf_end ? &shelves[number] : NULL;
}

// Shelves lie in the file behind the places of all pages.
static size_t place_of_shelf(uint32_t number) {
    return range_bytes + ((size_t)number << LL_PAGE_SHIFT);
}

static size_t own_place(uintptr_t page) {
    return page & (range_bytes - 1) & ~(size_t)(LL_PAGE_SIZE - 1);
}

size_t ll_shelves_place(uintptr_t page) {
    uint32_t number = get(page);
    return number == 0 ? own_place(page) : place_of_shelf(number);
}

uintptr_t ll_shelves_piece_end(uintptr_t start, uintptr_t end) {
    if (totals.merged_pages == 0) {
        return end;
    }
    uintptr_t page = start & ~(uintptr_t)(LL_PAGE_SIZE - 1);
    bool is_merged = get(page) != 0;
    do {
        page += LL_PAGE_SIZE;
    } while (page < end && !is_merged && get(page) == 0);
    return page < end ? page : end;
}

static bool make_room(uint32_t page_number) {
    size_t needed = ((size_t)page_number + 1) * sizeof *shelf_of;
    if (needed <= table_bytes) {
        return true;
    }
    size_t size = (needed - table_bytes + TABLE_STEP - 1) & ~(size_t)(TABLE_STEP - 1);
    if (!ll_memory_commit((char*)shelf_of + table_bytes, size)) {
        return false;
    }
    __atomic_store_n(&table_bytes, table_bytes + size, __ATOMIC_RELEASE);
    return true;
}

static uint32_t take_number(void) {
    bool any_free = totals.shelves + 1 < shelf_end;
    for (uint32_t i = 1; any_free && i < shelf_end; i++) {
        if (shelves[i].count == 0) {
            return i;
        }
    }
    return shelf_end < SHELVES_MAX ? shelf_end++ : 0;
}

// Writes what a page uses to its place on a shelf. Through the file and by no mapping,
// which would look like touches of the page and its neighbours.
static bool copy_used(uintptr_t page, const struct ll_granules* used, size_t place) {
    _Alignas(64) char contents[LL_PAGE_SIZE];
    if (!ll_backing_read(own_place(page), contents, sizeof contents)) {
        return false;
    }
    for (unsigned at = 0; at < LL_GRANULES;) {
        unsigned first = at;
        while (at < LL_GRANULES && (used->bits[at / 64] >> at % 64 & 1) != 0) {
            at++;
        }
        if (at > first &&
            !ll_backing_write(place + first * LL_GRANULE, contents + first * LL_GRANULE,
                              (size_t)(at - first) * LL_GRANULE)) {
            return false;
        }
        at += at == first;
    }
    return true;
}

static void note_joined(struct ll_shelf* shelf, uint32_t number, uintptr_t page,
                        const struct ll_granules* used) {
    totals.shelves += shelf->count == 0;
    totals.merged_pages++;
    shelf->pages[shelf->count++] = number_of(page);
    for (int i = 0; i < LL_GRANULES / 64; i++) {
        shelf->used.bits[i] |= used->bits[i];
    }
    __atomic_store_n(&shelf_of[number_of(page)], number, __ATOMIC_RELAXED);
}

uint32_t ll_shelves_join(uint32_t number, uintptr_t page, uint32_t class,
                         const struct ll_granules* used) {
    bool is_new = number == 0;
    number = is_new ? take_number() : number;
    if (number == 0 || !make_room(number_of(page))) {
        return 0;
    }
    struct ll_shelf* shelf = &shelves[number];
    size_t place = place_of_shelf(number);
    if (is_new) {
        *shelf = (struct ll_shelf){.class = class};
    }
    if (!copy_used(page, used, place) || !ll_backing_map_page(page, place)) {
        if (is_new) {
            ll_backing_empty(place, LL_PAGE_SIZE);
        }
        return 0;
    }
    ll_backing_empty(own_place(page), LL_PAGE_SIZE);
    note_joined(shelf, number, page, used);
    return number;
}

// What the page used stays noted as used, since another page may use part of it.
static void note_parted(uint32_t number, uintptr_t page) {
    struct ll_shelf* shelf = &shelves[number];
    uint32_t at = 0;
    while (shelf->pages[at] != number_of(page)) {
        at++;
    }
    shelf->pages[at] = shelf->pages[--shelf->count];
    __atomic_store_n(&shelf_of[number_of(page)], 0, __ATOMIC_RELAXED);
    totals.merged_pages--;
    if (shelf->count == 0) {
        totals.shelves--;
        ll_backing_empty(place_of_shelf(number), LL_PAGE_SIZE);
    }
}

bool ll_shelves_part(uintptr_t start, size_t size_bytes) {
    bool is_done = true;
    if (totals.merged_pages == 0) {
        return true;
    }
    for (uintptr_t page = start; page < start + size_bytes; page += LL_PAGE_SIZE) {
        uint32_t number = get(page);
        if (number == 0) {
            continue;
        }
        if (ll_backing_map_page(page, own_place(page))) {
            note_parted(number, page);
        } else {
            is_done = false;
        }
    }
    return is_done;
}

void ll_shelves_forget(void) {
    for (uint32_t number = 1; number < shelf_end; number++) {
        for (uint32_t i = 0; i < shelves[number].count; i++) {
            shelf_of[shelves[number].pages[i]] = 0;
        }
        shelves[number].count = 0;
    }
    totals = (struct ll_shelves_totals){0};
}
