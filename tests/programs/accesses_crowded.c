// Takes all free addresses around the C library, and enters code of it only then.
#include <inttypes.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { RANGES_MAX = 4096 };

static struct {
    uintptr_t start;
    uintptr_t end;
} ranges[RANGES_MAX];

static int read_ranges(void) {
    char line[512];
    int count = 0;
    FILE* maps = fopen("/proc/self/maps", "r");
    while (count < RANGES_MAX && fgets(line, sizeof line, maps) != NULL) {
        count += sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &ranges[count].start,
                        &ranges[count].end) == 2;
    }
    fclose(maps);
    return count;
}

static void take(uintptr_t start, uintptr_t end) {
    if (start < end) {
        mmap((void*)start, end - start, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    }
}

static uintptr_t within(uintptr_t least, uintptr_t value, uintptr_t most) {
    return value < least ? least : value > most ? most : value;
}

static void take_all_around(uintptr_t address) {
    uintptr_t first = (address - ((uintptr_t)1 << 32)) & ~(uintptr_t)4095;
    uintptr_t last = first + ((uintptr_t)2 << 32);
    uintptr_t end = first;
    int count = read_ranges();
    for (int i = 0; i < count; i++) {
        take(end, within(first, ranges[i].start, last));
        end = within(end, ranges[i].end, last);
    }
    take(end, last);
}

// Code of libc that nothing has entered before.
static int enter_code(void) {
    regex_t pattern;
    regmatch_t match;
    if (regcomp(&pattern, "(a|b)*c[x-z]+", REG_EXTENDED) != 0) {
        return -1;
    }
    int result = regexec(&pattern, "11abacxyz1", 1, &match, 0);
    regfree(&pattern);
    return result == 0 ? (int)(match.rm_eo - match.rm_so) : -1;
}

int main(void) {
    take_all_around((uintptr_t)stdin); // a variable of libc
    printf("%d\n", enter_code());
    return 0;
}
