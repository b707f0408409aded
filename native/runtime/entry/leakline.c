// Our own small interface for programs (include/leakline.h).
#include "include/leakline.h"
#include "base/attributes.h"
#include "format/records.h"
#include "heap/heap.h"
#include "lens/roots.h"
#include "process/process.h"

LL_EXPORT void __leakline_ignore(const void* block) {
    ll_heap_ignore(block);
}

LL_EXPORT void __leakline_root(const void* start, size_t size_bytes) {
    ll_roots_add(start, size_bytes);
}

LL_EXPORT void __leakline_root_end(const void* start, size_t size_bytes) {
    ll_roots_remove(start, size_bytes);
}

LL_EXPORT unsigned long __leakline_mark(void) {
    struct ll_occasion here = LL_OCCASION_HERE(LL_TRIGGER_program, 0);
    return ll_process_look(&here);
}
