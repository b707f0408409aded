#include "arm/wake.h"

#include <stddef.h>
#include <time.h>

#include "arm/image.h"
#include "arm/stubs.h"
#include "arm/text.h"
#include "os/lock.h"
#include "os/own_thread.h"

// Held while a unit is woken, by a thread that takes no signals.
static struct ll_lock lock;

static bool has_ended;

// The thread that has the lock, 0 for none, and what for.
static uintptr_t owner;
static enum { HOLDING, WAKING } purpose;

static bool is_awake(const struct ll_arm_module* module, uint32_t part) {
    return (module->awake[part / 8] >> part % 8 & 1) != 0;
}

static void put_entry_back(const struct ll_arm_module* module,
                           const struct ll_arm_part* part) {
    if (!part->has_entry) {
        return;
    }
    uint64_t bytes = 0;
    for (unsigned i = LL_ARM_JUMP_LENGTH; i > 0; i--) {
        bytes = bytes << 8 | part->original[i - 1];
    }
    ll_image_will_write(module, part->address);
    ll_text_write(module, part->address, LL_ARM_JUMP_LENGTH, bytes);
}

// Before a group is armed whose bytes may be among them.
static void put_entries_back(struct ll_arm_module* module,
                             const struct ll_arm_part* part) {
    for (uint32_t i = 0; i < part->unit_count; i++) {
        put_entry_back(module, &module->plan.parts[part->first_of_unit + i]);
    }
}

static void arm_part(struct ll_arm_module* module, const struct ll_arm_part* part) {
    const struct ll_arm_site* sites = module->plan.sites;
    uint32_t end = part->first_site + part->site_count;
    ll_arm_plan_bring(&sites[part->first_site], part->site_count * sizeof *sites);
    for (uint32_t i = part->first_site; i < end; i += sites[i].site_count) {
        if (ll_stubs_get(module, &sites[i])) {
            ll_image_will_write(module, ll_arm_jump_at(&sites[i]));
            ll_text_arm(module, &sites[i]);
            ll_arm_set_fit(module, i);
        } else {
            module->unfit_count += sites[i].site_count;
        }
    }
}

static void count_unarmed(struct ll_arm_module* module,
                          const struct ll_arm_part* part) {
    module->unfit_count += part->site_count;
}

// Puts the entries of a unit back and does something with each of its parts.
static void wake_unit(struct ll_arm_module* module, const struct ll_arm_part* part,
                      void (*wake)(struct ll_arm_module* module,
                                   const struct ll_arm_part* part)) {
    put_entries_back(module, part);
    uint32_t end = part->first_of_unit + part->unit_count;
    for (uint32_t i = part->first_of_unit; i < end; i++) {
        module->awake[i / 8] |= (uint8_t)(1 << i % 8);
    }
    for (uint32_t i = part->first_of_unit; i < end; i++) {
        wake(module, &module->plan.parts[i]);
    }
}

// A few pages of the tables are read for each unit.
static void let_tables_go(struct ll_arm_module* module) {
    enum { READS_MAX = 4 };
    uint32_t reads = __atomic_add_fetch(&module->reads, 1, __ATOMIC_RELAXED);
    if (reads >= READS_MAX) {
        __atomic_store_n(&module->reads, 0, __ATOMIC_RELAXED);
        ll_arm_plan_let_go(&module->plan);
    }
}

static void wake_once(struct ll_arm_module* module, uint32_t number) {
    if (!is_awake(module, number)) {
        const struct ll_arm_part* part = &module->plan.parts[number];
        ll_arm_plan_bring(part, sizeof *part);
        wake_unit(module, part, arm_part);
        let_tables_go(module);
    }
}

// Names the calling thread, in a forked child as before. The runtime's own thread has
// its thread pointer from the one that started it.
static uintptr_t own_name(void) {
    enum { OWN_THREAD = 1 };
    return ll_own_thread_is_here() ? OWN_THREAD : (uintptr_t)__builtin_thread_pointer();
}

static void set_owner(uintptr_t thread) {
    __atomic_store_n(&owner, thread, __ATOMIC_RELAXED);
}

// A child that was made without the runtime's knowledge may have the lock of a thread
// that it does not have. False when nobody will let it go.
static bool take_lock(void) {
    enum { SPINS = 100, TRIES = 20000, PAUSE_NS = 100000 };
    for (int i = 0; i < TRIES; i++) {
        if (ll_lock_try(&lock)) {
            return true;
        }
        struct timespec pause = {0, i < SPINS ? 0 : PAUSE_NS};
        ll_syscall(SYS_nanosleep, &pause, NULL);
    }
    return false;
}

// Without a system call. Groups of a unit that somebody else is just arming must not be
// written over, so this waits for them a moment.
static void wake_unarmed(struct ll_arm_module* module, uint32_t number) {
    enum { TRIES = 1 << 16 };
    bool is_held = false;
    for (int i = 0; i < TRIES && !is_held; i++) {
        is_held = ll_lock_try(&lock);
        __builtin_ia32_pause();
    }
    if (!is_awake(module, number)) {
        wake_unit(module, &module->plan.parts[number], count_unarmed);
    }
    if (is_held) {
        ll_lock_drop_unwaited(&lock);
    }
}

static void wake_locked(struct ll_arm_module* module, uint32_t number,
                        uintptr_t thread) {
    uint64_t mask = ll_signals_block();
    if (take_lock()) {
        purpose = WAKING;
        set_owner(thread);
        wake_once(module, number);
        set_owner(0);
        ll_lock_drop_unwaited(&lock);
    } else {
        ll_wake_end();
        wake_unarmed(module, number);
    }
    ll_signals_restore(mask);
}

static void wake_as_owner(struct ll_arm_module* module, uint32_t number) {
    if (purpose == HOLDING) {
        wake_once(module, number);
    } else if (!is_awake(module, number)) {
        // Code of libc that waking itself runs; nobody sees that it does.
        wake_unit(module, &module->plan.parts[number], count_unarmed);
    }
}

void ll_wake_part(struct ll_arm_module* module, uint32_t part) {
    if (__atomic_load_n(&has_ended, __ATOMIC_RELAXED)) {
        wake_unarmed(module, part);
        return;
    }
    uintptr_t thread = own_name();
    if (__atomic_load_n(&owner, __ATOMIC_RELAXED) == thread) {
        wake_as_owner(module, part);
    } else {
        wake_locked(module, part, thread);
    }
}

void ll_wake_hold(void) {
    if (!take_lock()) {
        ll_wake_end();
    }
    purpose = HOLDING;
    set_owner(own_name());
}

bool ll_wake_try_hold(void) {
    if (__atomic_load_n(&has_ended, __ATOMIC_RELAXED) || !ll_lock_try(&lock)) {
        return false;
    }
    purpose = HOLDING;
    set_owner(own_name());
    return true;
}

void ll_wake_let_go(void) {
    set_owner(0);
    ll_lock_drop_unwaited(&lock);
}

void ll_wake_fork_child(void) {
    set_owner(0);
    ll_lock_renew(&lock);
}

void ll_wake_eager(struct ll_arm_module* module) {
    uint32_t count = module->plan.header->eager_count;
    for (uint32_t i = 0; i < count; i += module->plan.parts[i].unit_count) {
        wake_unit(module, &module->plan.parts[i], arm_part);
    }
}

void ll_wake_end(void) {
    __atomic_store_n(&has_ended, true, __ATOMIC_RELAXED);
}

void ll_wake_forget_entries(struct ll_arm_module* module) {
    for (uint32_t i = 0; i < module->plan.header->part_count; i++) {
        if (!is_awake(module, i)) {
            put_entry_back(module, &module->plan.parts[i]);
        }
    }
}
