// A file of code that is about to be run in this process: opened only when nobody else
// could have written it.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_BUILD_ID_MAX = 32 };

enum ll_plan_verdict {
    LL_PLAN_OK,
    LL_PLAN_MISSING,
    LL_PLAN_UNSAFE,  // somebody else could have written it
    LL_PLAN_DAMAGED, // not a plan, cut short, or for another module
};

struct ll_plan_file {
    int file;          // -1 once it is closed
    const char* start; // the whole file, mapped; NULL: it is not
    size_t size_bytes; // at least one page
};

// Opens `folder`/<build-id in hex><suffix>. On anything but OK nothing stays open.
enum ll_plan_verdict ll_plan_file_open(const char* folder, const uint8_t* build_id,
                                       uint32_t build_id_length, const char* suffix,
                                       struct ll_plan_file* plan);

// Maps the whole file. False when the system refuses.
bool ll_plan_file_map(struct ll_plan_file* plan);

// Ends the mapping, and closes the file if it is still open.
void ll_plan_file_close(struct ll_plan_file* plan);

// Closes the file alone; what is mapped stays.
void ll_plan_file_close_descriptor(struct ll_plan_file* plan);

// Lets go of the memory behind the mapping until somebody reads there again.
void ll_plan_file_leave_pages(const struct ll_plan_file* plan);

// Adler-32 of data that follows what `sum` is of. A large library has a megabyte of
// tables, for which a CRC would take longer than all the rest of the start.
enum { LL_PLAN_SUM_BEGIN = 1 };
uint32_t ll_plan_sum(uint32_t sum, const char* data, size_t size_bytes);
