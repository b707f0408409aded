#include "lens/pages_clocks.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/attributes.h"
#include "format/records.h"
#include "heap/inspect.h"
#include "os/syscall.h"
#include "record/recording.h"

// When there is no room, every second reading goes, and readings become rarer.
enum { READINGS = 256 };

static LL_BULK struct ll_record_clocks readings[READINGS];
static size_t count;
static uint64_t interval_ms = 1;

static uint64_t wall_ms(void) {
    struct timespec now = {0};
    (void)ll_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool read_now(uint64_t cpu_ms, struct ll_record_clocks* reading) {
    uint64_t allocations = 0;
    reading->cpu_ms = cpu_ms;
    reading->wall_ms = wall_ms();
    bool is_known = ll_heap_count_allocations(&allocations);
    reading->allocations = allocations;
    return is_known;
}

static void thin_out(void) {
    for (size_t i = 0; i < READINGS / 2; i++) {
        readings[i] = readings[2 * i + 1];
    }
    count = READINGS / 2;
    interval_ms = (readings[count - 1].cpu_ms - readings[0].cpu_ms) / count;
}

void ll_page_clocks_read(uint64_t cpu_ms) {
    if (count > 0 && cpu_ms < readings[count - 1].cpu_ms + interval_ms) {
        return;
    }
    if (count == READINGS) {
        thin_out();
    }
    count += read_now(cpu_ms, &readings[count]);
}

static void write(const struct ll_record_clocks* reading) {
    ll_record(LL_RECORD_clocks, reading, sizeof *reading, NULL, 0);
}

void ll_page_clocks_write(uint64_t now_ms) {
    struct ll_record_clocks now = {0};
    for (size_t i = 0; i < count; i++) {
        write(&readings[i]);
    }
    if (read_now(now_ms, &now)) {
        write(&now);
    }
}
