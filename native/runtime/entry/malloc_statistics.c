// glibc's functions that tune its allocator or tell about it, answered for ours.
#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#include "base/attributes.h"
#include "heap/heap.h"

LL_EXPORT int malloc_trim(size_t pad) {
    (void)pad;
    return ll_heap_trim();
}

// Accepts everything: what it tunes does not exist here, and a program that checks the
// result expects success.
LL_EXPORT int mallopt(int parameter, int value) {
    (void)parameter;
    (void)value;
    return 1;
}

LL_EXPORT struct mallinfo2 mallinfo2(void) {
    struct ll_heap_totals totals = ll_heap_totals_now();
    return (struct mallinfo2){
        .arena = totals.mapped_bytes,
        .ordblks = 1,
        .uordblks = totals.live_bytes,
        .fordblks = totals.mapped_bytes - totals.live_bytes,
    };
}

LL_EXPORT struct mallinfo mallinfo(void) {
    struct ll_heap_totals totals = ll_heap_totals_now();
    return (struct mallinfo){
        .arena = (int)totals.mapped_bytes,
        .ordblks = 1,
        .uordblks = (int)totals.live_bytes,
        .fordblks = (int)(totals.mapped_bytes - totals.live_bytes),
    };
}

LL_EXPORT void malloc_stats(void) {
    struct ll_heap_totals totals = ll_heap_totals_now();
    fprintf(stderr, "Arena 0:\n");
    fprintf(stderr, "system bytes     = %10zu\n", (size_t)totals.mapped_bytes);
    fprintf(stderr, "in use bytes     = %10zu\n", (size_t)totals.live_bytes);
}

LL_EXPORT int malloc_info(int options, FILE* stream) {
    if (options != 0) {
        return EINVAL;
    }
    struct ll_heap_totals totals = ll_heap_totals_now();
    size_t free_bytes = totals.mapped_bytes - totals.live_bytes;
    fprintf(stream,
            "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n"
            "<total type=\"rest\" count=\"1\" size=\"%zu\"/>\n"
            "<system type=\"current\" size=\"%zu\"/>\n"
            "<system type=\"max\" size=\"%zu\"/>\n</heap>\n</malloc>\n",
            free_bytes, (size_t)totals.mapped_bytes, (size_t)totals.mapped_bytes);
    return 0;
}
