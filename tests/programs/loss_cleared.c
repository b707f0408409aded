// References that the C library clears, many at once. A comment `loss(NAME): CAUSE`
// marks the line that loses what the function NAME allocated.
#include "corpus.h"

#include <string.h>

struct record {
    char* name;
    char* path;
    char* note;
    long count;
};

enum { RECORDS = 5, WIDE = 60 };

static struct record single;
static struct record records[RECORDS];
static char* wide[WIDE];
static char* overlapping[3];

// Missed by the checker: inline assembly that sees the variable might keep it.
CASE char* FN_cleared_record_bad(void) {
    return malloc(100);
}

// Missed by the checker: inline assembly that sees the variable might keep it.
CASE char* FN_cleared_in_loop_bad(void) {
    return malloc(101);
}

// Missed by the checker: inline assembly that sees the variable might keep it.
CASE char* FN_cleared_table_bad(void) {
    return malloc(102);
}

// Missed by the checker: inline assembly that sees the variable might keep it.
CASE char* FN_copied_over_bad(void) {
    return malloc(103);
}

// The size is not known when it is compiled, so that the C library does it.
CASE void clear_record(size_t size) {
    single.path = FN_cleared_record_bad();
    KEEP(&single);
    scrub();
    memset(&single, 0, size); // loss(FN_cleared_record_bad): overwritten
    KEEP(&single);
}

CASE void clear_in_loop(size_t size) {
    records[RECORDS - 1].note = FN_cleared_in_loop_bad();
    KEEP(records);
    scrub();
    for (int i = 0; i < RECORDS; i++) {
        memset(&records[i], 0, size); // loss(FN_cleared_in_loop_bad): overwritten
    }
    KEEP(records);
}

CASE void clear_table(size_t size) {
    wide[WIDE - 1] = FN_cleared_table_bad();
    KEEP(wide);
    scrub();
    memset(wide, 0, size); // loss(FN_cleared_table_bad): overwritten
    KEEP(wide);
}

CASE void copy_over(size_t size) {
    overlapping[2] = FN_copied_over_bad();
    KEEP(overlapping);
    scrub();
    memcpy(overlapping, wide, size); // loss(FN_copied_over_bad): overwritten
    KEEP(overlapping);
}

int main(void) {
    volatile size_t sizes[] = {sizeof single, sizeof wide, sizeof overlapping};
    clear_record(sizes[0]);
    clear_in_loop(sizes[0]);
    clear_table(sizes[1]);
    copy_over(sizes[2]);
    scrub();
    return 0;
}
