#include "arm/change.h"

#include <linux/membarrier.h>

#include "arm/text.h"
#include "base/attributes.h"
#include "os/syscall.h"

enum { BATCH_MAX = 128, BREAKPOINT = 0xcc };

struct change {
    const struct ll_arm_module* module;
    const struct ll_arm_site* site;
    uint64_t bytes; // the new ones, from the first on
    uintptr_t address;
};

static LL_BULK struct change batch[BATCH_MAX];
static uint32_t batch_count;

bool ll_change_by_poking(void) {
    ll_arm.is_poked = true;
    return ll_syscall(SYS_membarrier,
                      MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0;
}

static void synchronise(void) {
    ll_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

static void set_first_byte(const struct change* change, uint8_t byte) {
    __atomic_store_n((uint8_t*)change->address, byte, __ATOMIC_RELEASE);
}

static void set_other_bytes(const struct change* change) {
    uint64_t others = change->bytes & ~(uint64_t)0xff;
    ll_text_set(change->module, change->site, others | BREAKPOINT);
}

void ll_changes_finish(void) {
    if (batch_count == 0) {
        return;
    }
    for (uint32_t i = 0; i < batch_count; i++) {
        set_first_byte(&batch[i], BREAKPOINT);
    }
    synchronise();
    for (uint32_t i = 0; i < batch_count; i++) {
        set_other_bytes(&batch[i]);
    }
    synchronise();
    for (uint32_t i = 0; i < batch_count; i++) {
        set_first_byte(&batch[i], (uint8_t)batch[i].bytes);
    }
    synchronise();
    __atomic_store_n(&batch_count, 0, __ATOMIC_RELEASE);
}

static bool is_in_batch(uintptr_t address) {
    uint32_t count = __atomic_load_n(&batch_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        if (__atomic_load_n(&batch[i].address, __ATOMIC_RELAXED) == address) {
            return true;
        }
    }
    return false;
}

static void change(const struct ll_arm_module* module, const struct ll_arm_site* site,
                   uint64_t bytes) {
    if (!ll_arm.is_poked) {
        ll_text_set(module, site, bytes);
        return;
    }
    uintptr_t address = module->bias + ll_arm_jump_at(site);
    if (batch_count == BATCH_MAX || is_in_batch(address)) {
        ll_changes_finish();
    }
    struct change* next = &batch[batch_count];
    next->module = module;
    next->site = site;
    next->bytes = bytes;
    __atomic_store_n(&next->address, address, __ATOMIC_RELAXED);
    __atomic_store_n(&batch_count, batch_count + 1, __ATOMIC_RELEASE);
}

void ll_change_arm(const struct ll_arm_module* module, const struct ll_arm_site* site) {
    change(module, site, ll_text_armed(site));
}

void ll_change_disarm(const struct ll_arm_module* module,
                      const struct ll_arm_site* site) {
    change(module, site, ll_text_original(site));
}

bool ll_change_was_trap(uintptr_t address) {
    const uint8_t* byte = (const uint8_t*)address;
    while (__atomic_load_n(byte, __ATOMIC_ACQUIRE) == BREAKPOINT) {
        if (!is_in_batch(address)) {
            return __atomic_load_n(byte, __ATOMIC_ACQUIRE) != BREAKPOINT;
        }
        ll_syscall(SYS_sched_yield);
    }
    return true;
}
