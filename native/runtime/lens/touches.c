#include "lens/touches.h"

#include "arm/record.h"
#include "arm/window.h"

bool ll_touches_on;

struct ll_touch ll_touch_of(struct ll_block block) {
    uint64_t word = __atomic_load_n(ll_block_twin(block), __ATOMIC_RELAXED);
    uint32_t place = ll_touch_place(word);
    return (struct ll_touch){
        .first_ns = ll_ns_of_tick(ll_touch_first(word)),
        .last_ns = ll_ns_of_tick(ll_touch_last(word)),
        .windows = ll_windows_since(ll_touch_last(word)),
        .address = place == 0 ? 0 : ll_arm.places[place].address,
    };
}
