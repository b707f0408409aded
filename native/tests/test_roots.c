// Which memory counts as a root: registered regions, stacks, and mappings of each kind.
#include "lens/roots.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "lens/classify.h"
#include "lens/mappings.h"
#include "os/maps.h"
#include "os/memory.h"
#include "os/residence.h"

enum { PAGES = 8, SIZE = PAGES * LL_PAGE_SIZE };

static unsigned count;
static struct ll_root last;

static void keep_last(const struct ll_root* root, void* context) {
    (void)context;
    count++;
    last = *root;
}

static unsigned regions(void) {
    count = 0;
    ll_roots_visit_regions(keep_last, NULL);
    return count;
}

static unsigned stacks(void) {
    count = 0;
    ll_roots_visit_stacks(keep_last, NULL);
    return count;
}

static void regions_come_and_go(void) {
    static char memory[64];
    CHECK(regions() == 0);
    ll_roots_add(memory, sizeof memory);
    ll_roots_add(memory, 16);
    CHECK(regions() == 2);
    ll_roots_remove(memory, 32);
    CHECK(regions() == 2);
    ll_roots_remove(memory, 16);
    CHECK(regions() == 1 && last.end - last.start == sizeof memory);
    ll_roots_remove(memory, sizeof memory);
    ll_roots_add(memory, 0);
    CHECK(regions() == 0);
}

static void a_stack_ends_until_something_else_is_mapped_there(void) {
    struct ll_root stack;
    ll_roots_thread_stack_begin(0x10000, 0x20000);
    ll_roots_thread_stack_begin(0x30000, 0x40000);
    CHECK(stacks() == 2 && !last.ended && last.thread_pointer == 0);
    ll_roots_thread_stack_end(0x10000, 0x20000);
    CHECK(ll_roots_stack_at(0x1ffff, &stack) && stack.ended);
    CHECK(ll_roots_stack_at(0x30000, &stack) && !stack.ended);
    CHECK(!ll_roots_stack_at(0x20000, &stack));
    ll_roots_mapped(0x1f000, 0x38000);
    CHECK(stacks() == 1 && last.start == 0x30000);
    ll_roots_thread_stack_end(0x30000, 0x40000);
    ll_roots_thread_stack_begin(0x30000, 0x40000);
    CHECK(stacks() == 1 && !last.ended);
    ll_roots_thread_stack_end(0x30000, 0x40000);
    ll_roots_mapped(0x30000, 0x40000);
    CHECK(stacks() == 0);
}

static void* come_and_go(void* argument) {
    char* base = argument;
    for (int i = 0; i < 2000; i++) {
        ll_roots_add(base + i, 8);
        ll_roots_thread_stack_begin((uintptr_t)base, (uintptr_t)base + 64);
        ll_roots_thread_stack_end((uintptr_t)base, (uintptr_t)base + 64);
        ll_roots_mapped((uintptr_t)base, (uintptr_t)base + 1);
        ll_roots_remove(base + i, 8);
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void) {
    static char memory[4][4096];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, come_and_go, memory[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(regions() == 0 && stacks() == 0);
}

static void* keep_own_stack(void* argument) {
    pthread_attr_t attributes;
    void* start;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    ll_roots_thread_stack_begin((uintptr_t)start, (uintptr_t)start + size);
    *(uintptr_t*)argument = (uintptr_t)start;
    ll_roots_thread_stack_end((uintptr_t)start, (uintptr_t)start + size);
    return NULL;
}

static void the_control_block_of_a_thread_is_known(void) {
    pthread_t thread;
    uintptr_t start = 0;
    struct ll_root stack;
    pthread_create(&thread, NULL, keep_own_stack, &start);
    pthread_join(thread, NULL);
    CHECK(ll_roots_stack_at(start, &stack) && stack.ended);
    CHECK(stack.thread_pointer == (uintptr_t)thread);
    ll_roots_mapped(start, start + 1);
}

// Searches one mapping of this process only and tells whether a pointer to a fresh
// block at `slot` counts.
static struct ll_mappings searched;
static bool read_through_copy;

static bool counts(char* mapping, size_t size, char* slot, int protection,
                   const struct ll_hole* hole) {
    void* block = ll_heap_allocate(10, 1);
    memcpy(slot, &block, sizeof block);
    mprotect(mapping, size, protection);
    static const struct ll_flood reach = {
        .next = {1, 1, 2, 3}, .pending = 2, .settled = 1};
    struct ll_marker* marker = ll_marker_start(1 << 16);
    ll_heap_clear_marks();
    ll_marker_use(marker, &reach);
    struct ll_holes holes = {0};
    ll_holes_add(&holes, (struct ll_hole){.start = 0, .end = (uintptr_t)mapping});
    ll_holes_add(&holes,
                 (struct ll_hole){.start = (uintptr_t)mapping + size, .end = -1UL});
    if (hole != NULL) {
        ll_holes_add(&holes, *hole);
    }
    ll_holes_sort(&holes);
    searched = (struct ll_mappings){
        .marker = marker, .holes = &holes, .may_vanish = read_through_copy};
    ll_mark_mappings(&searched);
    CHECK(searched.listed && ll_mark_finish(marker));
    ll_holes_release(&holes);
    ll_marker_end(marker);
    struct ll_block found;
    CHECK(ll_block_at((uintptr_t)block, &found));
    bool marked = ll_block_mark(found) == LL_MARK_REACHED;
    ll_heap_release(block);
    mprotect(mapping, size, PROT_READ | PROT_WRITE);
    memset(slot, 0, sizeof block);
    return marked;
}

static bool kind_counts(int flags, int file, int protection) {
    char* mapping = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, file, 0);
    CHECK(mapping != MAP_FAILED);
    bool result = counts(mapping, SIZE, mapping + SIZE - 64, protection, NULL);
    munmap(mapping, SIZE);
    return result;
}

static int temporary_file(void) {
    char path[] = "/var/tmp/leakline-test-XXXXXX";
    int file = mkstemp(path);
    unlink(path);
    CHECK(file >= 0 && ftruncate(file, SIZE) == 0);
    return file;
}

static void kinds_of_mappings(void) {
    enum { READ_WRITE = PROT_READ | PROT_WRITE };
    int memory_file = memfd_create("test", MFD_CLOEXEC);
    int disk_file = temporary_file();
    CHECK(ftruncate(memory_file, SIZE) == 0);
    CHECK(kind_counts(MAP_PRIVATE | MAP_ANONYMOUS, -1, READ_WRITE));
    CHECK(kind_counts(MAP_PRIVATE | MAP_ANONYMOUS, -1, PROT_READ));
    CHECK(!kind_counts(MAP_PRIVATE | MAP_ANONYMOUS, -1, PROT_NONE));
    CHECK(kind_counts(MAP_SHARED | MAP_ANONYMOUS, -1, READ_WRITE));
    CHECK(kind_counts(MAP_SHARED, memory_file, READ_WRITE));
    CHECK(kind_counts(MAP_PRIVATE, memory_file, READ_WRITE));
    CHECK(kind_counts(MAP_PRIVATE, disk_file, READ_WRITE));
    CHECK(!kind_counts(MAP_SHARED, disk_file, READ_WRITE));
    close(memory_file);
    close(disk_file);
}

static void memory_of_a_truncated_file_is_unread(void) {
    int file = memfd_create("test", MFD_CLOEXEC);
    CHECK(ftruncate(file, SIZE) == 0);
    char* mapping = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    memset(mapping, 1, SIZE);
    CHECK(ftruncate(file, LL_PAGE_SIZE) == 0);
    CHECK(counts(mapping, SIZE, mapping + 8, PROT_READ | PROT_WRITE, NULL));
    munmap(mapping, SIZE);
    close(file);
}

static void a_huge_sparse_mapping_costs_little(void) {
    size_t size = (size_t)16 << 30;
    char* mapping = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(mapping != MAP_FAILED);
    CHECK(counts(mapping, size, mapping + size / 2 + 8, PROT_READ | PROT_WRITE, NULL));
    struct ll_residence residence;
    ll_residence_open(&residence);
    CHECK(residence.private_source == LL_RESIDENCE_PAGEMAP);
    uintptr_t start = (uintptr_t)mapping;
    uintptr_t run_start;
    uintptr_t run_end;
    CHECK(ll_residence_next(&residence, LL_RESIDENCE_PAGEMAP, start, start + size,
                            &run_start, &run_end));
    CHECK(run_start == start + size / 2 && run_end == run_start + LL_PAGE_SIZE);
    ll_residence_close(&residence);
    munmap(mapping, size);
}

// Where pagemap cannot be opened, and for shared memory.
static void other_ways_to_know_what_is_resident(void) {
    char* mapping =
        mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapping[3 * LL_PAGE_SIZE] = 1;
    mapping[4 * LL_PAGE_SIZE] = 1;
    struct ll_residence residence;
    ll_residence_open(&residence);
    uintptr_t start = (uintptr_t)mapping;
    uintptr_t run_start;
    uintptr_t run_end;
    CHECK(ll_residence_next(&residence, LL_RESIDENCE_MINCORE, start, start + SIZE,
                            &run_start, &run_end));
    CHECK(run_start == start + 3 * LL_PAGE_SIZE && run_end == start + 5 * LL_PAGE_SIZE);
    CHECK(!ll_residence_next(&residence, LL_RESIDENCE_MINCORE, run_end, start + SIZE,
                             &run_start, &run_end));
    CHECK(ll_residence_next(&residence, LL_RESIDENCE_ALL, start, start + SIZE,
                            &run_start, &run_end));
    CHECK(run_start == start && run_end == start + SIZE);
    ll_residence_close(&residence);
    munmap(mapping, SIZE);
}

static void memory_is_read_through_a_copy_when_threads_run_on(void) {
    read_through_copy = true;
    CHECK(kind_counts(MAP_PRIVATE | MAP_ANONYMOUS, -1, PROT_READ | PROT_WRITE));
    CHECK(searched.unread_bytes == 0);
    read_through_copy = false;
}

static void the_stack_of_an_ended_thread_counts_without_its_guard_only(void) {
    enum { WHOLE = SIZE + 2 * LL_PAGE_SIZE };
    // Its first page can be read: without it, the guard of something else may lie
    // there.
    char* below = mmap(NULL, WHOLE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char* mapping = below + LL_PAGE_SIZE;
    char* stack = mapping + LL_PAGE_SIZE;
    struct ll_hole ended = {.start = (uintptr_t)stack,
                            .end = (uintptr_t)stack + SIZE - 512,
                            .condition = LL_HOLE_BEHIND_GUARD};
    enum { READ_WRITE = PROT_READ | PROT_WRITE };
    CHECK(mprotect(mapping, LL_PAGE_SIZE, PROT_NONE) == 0);
    CHECK(mprotect(stack, SIZE, READ_WRITE) == 0);
    CHECK(!counts(stack, SIZE, stack + 1024, READ_WRITE, &ended));
    // The control block at the top still counts.
    CHECK(counts(stack, SIZE, stack + SIZE - 512, READ_WRITE, &ended));
    // A registered range may include the guard.
    ended.start = (uintptr_t)mapping;
    CHECK(!counts(stack, SIZE, stack + 1024, READ_WRITE, &ended));
    CHECK(mprotect(mapping, LL_PAGE_SIZE, READ_WRITE) == 0);
    CHECK(counts(stack, SIZE, stack + 1024, READ_WRITE, &ended));
    munmap(below, WHOLE);
}

static bool find_name(const struct ll_mapping* mapping, void* context) {
    const char* name = context;
    if (strcmp(mapping->name, name) != 0) {
        return true;
    }
    count++;
    CHECK(mapping->readable && mapping->writable && mapping->start < mapping->end);
    CHECK((uintptr_t)__builtin_frame_address(0) >= mapping->start);
    CHECK((uintptr_t)__builtin_frame_address(0) < mapping->end);
    return false;
}

static bool check_order(const struct ll_mapping* mapping, void* context) {
    uintptr_t* end = context;
    CHECK(mapping->start >= *end && mapping->end > mapping->start);
    *end = mapping->end;
    count++;
    return true;
}

static void mappings_are_listed_in_order(void) {
    // More lines than one read returns.
    char* many =
        mmap(NULL, 2000 * LL_PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2000; i += 2) {
        mprotect(many + i * LL_PAGE_SIZE, LL_PAGE_SIZE, PROT_NONE);
    }
    uintptr_t end = 0;
    count = 0;
    CHECK(ll_maps_visit(check_order, &end));
    CHECK(count > 2000);
    munmap(many, 2000 * LL_PAGE_SIZE);
    count = 0;
    char name[] = "[stack]";
    CHECK(ll_maps_visit(find_name, name));
    CHECK(count == 1);
}

int main(void) {
    CHECK(ll_heap_start());
    regions_come_and_go();
    a_stack_ends_until_something_else_is_mapped_there();
    threads_do_not_disturb_each_other();
    the_control_block_of_a_thread_is_known();
    kinds_of_mappings();
    memory_of_a_truncated_file_is_unread();
    a_huge_sparse_mapping_costs_little();
    other_ways_to_know_what_is_resident();
    memory_is_read_through_a_copy_when_threads_run_on();
    the_stack_of_an_ended_thread_counts_without_its_guard_only();
    mappings_are_listed_in_order();
    return failures != 0;
}
