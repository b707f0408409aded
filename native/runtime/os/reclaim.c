#include "os/reclaim.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "os/file.h"

// Lines of /proc/vmstat that count such pages: those written to swap, those that a
// compressed cache took in its place, and those that were freed then.
static const char* const counters[] = {"\npswpout ", "\nzswpout ", "\npgsteal_anon "};

enum { TEXT_MAX = 16384, NAMES = sizeof counters / sizeof *counters };

static size_t read_all(const char* path, char* text) {
    int file = ll_file_open(path, O_RDONLY);
    size_t length = 0;
    long got = 0;
    if (file < 0) {
        return 0;
    }
    do {
        length += (size_t)got;
        got = ll_file_read(file, text + length, TEXT_MAX - 1 - length);
    } while (got > 0 && length < TEXT_MAX - 1);
    ll_file_close(file);
    text[length] = '\0';
    return length;
}

// The list has a heading, and a line for each place to swap to.
static bool is_there_swap(char* text) {
    if (read_all("/proc/swaps", text) == 0) {
        return true;
    }
    const char* heading_end = strchr(text, '\n');
    return heading_end != NULL && heading_end[1] != '\0';
}

static uint64_t number_at(const char* digit) {
    uint64_t number = 0;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        number = number * 10 + (uint64_t)(*digit - '0');
    }
    return number;
}

// Where the counters cannot be read, each call counts as a reclaim.
uint64_t ll_reclaim_count(void) {
    static uint64_t unknown;
    char text[TEXT_MAX];
    if (!is_there_swap(text)) {
        return 0;
    }
    uint64_t sum = 0;
    size_t found = 0;
    if (read_all("/proc/vmstat", text) > 0) {
        for (size_t i = 0; i < NAMES; i++) {
            const char* line = strstr(text, counters[i]);
            found += line != NULL;
            sum += line == NULL ? 0 : number_at(line + strlen(counters[i]));
        }
    }
    return found > 0 ? sum : ++unknown;
}
