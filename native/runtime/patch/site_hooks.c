#include "patch/site_hooks.h"

#include "patch/births.h"
#include "patch/hooks.h"
#include "patch/loss_page.h"

static void lose(uint64_t pointer, uintptr_t site, uint32_t context, uintptr_t slot) {
    if (!ll_hooks_is_reference(pointer)) {
        return;
    }
    uint64_t clock = ll_hooks_tick();
    *ll_stamp_of(pointer) = ll_stamp_pack(clock, site, context);
    ll_births_carry_at(slot, pointer, clock);
}

static void bear(uint64_t pointer, uintptr_t site, uint32_t context, uintptr_t slot) {
    if (ll_hooks_is_reference(pointer)) {
        ll_births_note(slot, pointer, (struct ll_origin){site, context});
    }
}

void ll_site_hooks_start(void) {
    ll_loss_page()->lose = lose;
    ll_loss_page()->bear = bear;
}
