// What library functions do to the references they are given, as `leakline cc` sees it:
// a comment `loss(NAME): CAUSE SLOT` marks the line that loses what was allocated under
// the function NAME, or the next line where it stands alone.
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <wchar.h>

#include "corpus.h"

enum { COUNT = 100 };

static char* kept[COUNT];

// Missed by the checker: getline allocates anew only where the size is 0.
ALLOCATES(FN_replaced_by_getline_bad)
// Missed by the checker: getdelim allocates anew only where the size is 0.
ALLOCATES(FN_replaced_by_getdelim_bad)
ALLOCATES(replaced_by_asprintf_bad)
// Missed by the checker: a stream gives its memory when it is closed.
ALLOCATES(FN_replaced_by_open_memstream_bad)
ALLOCATES(replaced_by_scandir_bad)
ALLOCATES(replaced_by_scandirat_bad)
ALLOCATES(replaced_by_getaddrinfo_bad)
ALLOCATES(replaced_by_getifaddrs_bad)
// Missed by the checker: a stream gives its memory when it is closed.
ALLOCATES(FN_replaced_by_open_wmemstream_bad)
ALLOCATES(replaced_by_posix_memalign_bad)
ALLOCATES(not_grown_bad)
ALLOCATES(moved_ok)
ALLOCATES(freed_by_realloc_ok)
ALLOCATES(held_by_freed_bad)
ALLOCATES(cut_off_bad)
ALLOCATES(left_in_front_bad)
// Missed by the checker: an element at an unknown index may be another one.
ALLOCATES(FN_sorted_bad)
ALLOCATES(sorted_ok)

SCENE void line_bad(FILE* stream) {
    char* line = NULL;
    size_t size = 0;
    KEEP(getline(&line, &size, stream));
    KEEP(line);
} // loss(line_bad): out-of-scope line

SCENE void lines(void) {
    char text[] = "one\ntwo\n";
    FILE* stream = fmemopen(text, sizeof text - 1, "r");
    line_bad(stream);
    char* line = FN_replaced_by_getline_bad();
    size_t no_room = 0;
    KEEP(&line);
    // loss(FN_replaced_by_getline_bad): overwritten line
    KEEP(getline(&line, &no_room, stream));
    free(line);
    fclose(stream);
}

SCENE void fields(void) {
    char text[] = "one:two";
    FILE* stream = fmemopen(text, sizeof text - 1, "r");
    char* field = FN_replaced_by_getdelim_bad();
    size_t no_room = 0;
    KEEP(&field);
    // loss(FN_replaced_by_getdelim_bad): overwritten field
    KEEP(getdelim(&field, &no_room, ':', stream));
    free(field);
    fclose(stream);
}

SCENE void copies_bad(const char* text) {
    char* whole = strdup(text);
    KEEP(whole);
    whole = strndup(text, 2); // loss(copies_bad): overwritten whole
    KEEP(whole);
} // loss(copies_bad): out-of-scope whole

SCENE void formats(void) {
    char* text = replaced_by_asprintf_bad();
    KEEP(&text);
    // loss(replaced_by_asprintf_bad): overwritten text
    KEEP(asprintf(&text, "%d", 12));
    free(text);
}

// Missed by the checker: a stream gives its memory when it is closed.
SCENE void FN_streams_bad(void) {
    char* text = FN_replaced_by_open_memstream_bad();
    size_t size = 0;
    KEEP(&text);
    // loss(FN_replaced_by_open_memstream_bad): overwritten text
    FILE* stream = open_memstream(&text, &size);
    fputs("written to memory", stream);
    fclose(stream);
    KEEP(text);
} // loss(FN_streams_bad): out-of-scope text

SCENE int is_itself(const struct dirent* entry) {
    return strcmp(entry->d_name, ".") == 0;
}

SCENE void folders(void) {
    struct dirent** entries = replaced_by_scandir_bad();
    KEEP(&entries);
    // loss(replaced_by_scandir_bad): overwritten entries
    int count = scandir("/", &entries, is_itself, alphasort);
    while (count > 0) {
        free(entries[--count]);
    }
    free(entries);
}

SCENE void folders_below(void) {
    struct dirent** entries = replaced_by_scandirat_bad();
    KEEP(&entries);
    // loss(replaced_by_scandirat_bad): overwritten entries
    int count = scandirat(AT_FDCWD, "/", &entries, is_itself, alphasort);
    while (count > 0) {
        free(entries[--count]);
    }
    free(entries);
}

SCENE void interfaces(void) {
    struct ifaddrs* found = replaced_by_getifaddrs_bad();
    KEEP(&found);
    // loss(replaced_by_getifaddrs_bad): overwritten found
    if (getifaddrs(&found) == 0) {
        freeifaddrs(found);
    }
}

SCENE void wide_stream(void) {
    wchar_t* text = FN_replaced_by_open_wmemstream_bad();
    size_t size = 0;
    KEEP(&text);
    // loss(FN_replaced_by_open_wmemstream_bad): overwritten text
    FILE* stream = open_wmemstream(&text, &size);
    fputws(L"written to memory", stream);
    fclose(stream);
    free(text);
}

SCENE void addresses(void) {
    struct addrinfo wanted = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo* found = replaced_by_getaddrinfo_bad();
    KEEP(&found);
    // loss(replaced_by_getaddrinfo_bad): overwritten found
    KEEP(getaddrinfo("127.0.0.1", NULL, &wanted, &found));
    freeaddrinfo(found);
}

SCENE void alignment(void) {
    void* block = replaced_by_posix_memalign_bad();
    KEEP(&block);
    // loss(replaced_by_posix_memalign_bad): overwritten block
    KEEP(posix_memalign(&block, 64, 64));
    free(block);
}

SCENE void grown_bad(size_t bytes) {
    char* block = moved_ok();
    KEEP(block);
    block = realloc(block, bytes);
    KEEP(block);
} // loss(grown_bad): out-of-scope block

SCENE void not_grown(size_t bytes) {
    char* block = not_grown_bad();
    KEEP(block);
    block = realloc(block, bytes); // loss(not_grown_bad): overwritten block
    KEEP(block);
}

SCENE void emptied(volatile size_t* no_bytes) {
    char** table = freed_by_realloc_ok();
    table[0] = held_by_freed_bad();
    KEEP(table);
    // loss(held_by_freed_bad): container-freed *
    void* gone = realloc(table, *no_bytes);
    KEEP(gone);
    free(gone);
}

SCENE void shrunk(size_t bytes) {
    char** table = calloc(64, sizeof *table);
    table[0] = left_in_front_bad();
    table[63] = cut_off_bad();
    KEEP(table);
    table = realloc(table, bytes); // loss(cut_off_bad): container-freed *
    KEEP(table);
    table[0] = NULL; // loss(left_in_front_bad): overwritten table[0]
    KEEP(table);
    free(table);
}

SCENE int by_address(const void* left, const void* right) {
    uintptr_t first = *(const uintptr_t*)left;
    uintptr_t second = *(const uintptr_t*)right;
    return (first < second) - (first > second);
}

SCENE void sorts(void) {
    char* sorted[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        sorted[i] = FN_sorted_bad();
        kept[i] = sorted_ok();
    }
    KEEP(sorted);
    qsort(sorted, COUNT, sizeof *sorted, by_address);
    qsort(kept, COUNT, sizeof *kept, by_address);
    KEEP(sorted);
    KEEP(kept);
} // loss(FN_sorted_bad): out-of-scope sorted

int main(void) {
    volatile size_t no_bytes = 0;
    lines();
    fields();
    copies_bad("text");
    formats();
    FN_streams_bad();
    folders();
    folders_below();
    interfaces();
    wide_stream();
    addresses();
    alignment();
    grown_bad(1 << 20);
    not_grown((size_t)PTRDIFF_MAX - 4096);
    emptied(&no_bytes);
    shrunk(64);
    sorts();
    scrub();
    return 0;
}
