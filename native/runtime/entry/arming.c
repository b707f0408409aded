// Which modules are armed, and when: as in entry/patching.c, and after it, since what
// lens `loss` has patched stays as it is.
#include "entry/arming.h"

#include <link.h>
#include <string.h>
#include <ucontext.h>

#include "arm/change.h"
#include "arm/module.h"
#include "arm/probe.h"
#include "arm/schedule.h"
#include "base/options.h"
#include "base/text.h"
#include "entry/loaded.h"
#include "entry/sentences.h"
#include "entry/signals.h"
#include "format/records.h"
#include "lens/siblings.h"
#include "lens/touches.h"
#include "os/own_thread.h"
#include "process/process.h"

// Sites of what is loaded at the start, and those of them that are never seen.
static struct {
    uint32_t sites;
    uint32_t unseen;
    bool are_noted;
} totals;

static bool has_ended;

static const char* sentence_for(struct ll_arm_result result) {
    if (result.refused != 0) {
        return "the system forbids to arm code: accesses in it are not seen: ";
    }
    switch (result.verdict) {
    case LL_PLAN_OK:
        return NULL;
    case LL_PLAN_MISSING:
        return "there is no arm plan yet, accesses in it are not seen: ";
    case LL_PLAN_UNSAFE:
        return "the arm plan can be written by others and was not used: ";
    case LL_PLAN_DAMAGED:
        return "the arm plan does not fit the loaded code and was not used: ";
    }
    return NULL;
}

// Of what is loaded later each module is told by itself.
static void count_unseen(const struct dl_phdr_info* info, uint32_t sites,
                         uint32_t unseen) {
    if (!totals.are_noted) {
        totals.sites += sites;
        totals.unseen += unseen;
    } else if (unseen > 0) {
        char text[160];
        char* end = ll_append_text(ll_append_count(text, unseen), " of ");
        ll_append_text(ll_append_count(end, sites),
                       " loads and stores are not seen, and a block that only they"
                       " use looks stale, in ");
        ll_note_about_module(LL_NOT_SEEN_accesses, LL_PLAN_OK, text, info);
    }
}

static int arm_one(struct dl_phdr_info* info, size_t size, void* unused) {
    (void)size;
    (void)unused;
    struct ll_patch_target target = ll_loaded_describe(info);
    if (!ll_loaded_is_left_alone(info, &target)) {
        struct ll_arm_result result =
            ll_arm_module(ll_options.plans, &target, ll_heap_twin_distance());
        const char* sentence = sentence_for(result);
        if (sentence != NULL) {
            ll_note_about_module(LL_NOT_SEEN_accesses, (uint32_t)result.verdict,
                                 sentence, info);
        }
        count_unseen(info, result.sites, result.sites - result.armable);
    }
    return 0;
}

static void arm_what_is_loaded(void) {
    ll_arm_begin_census();
    dl_iterate_phdr(arm_one, NULL);
    ll_arm_end_census();
}

void ll_arming_modules_change(void) {
    if (!ll_touches_on || has_ended || !ll_process_is_watched()) {
        return;
    }
    // From the moment the loader says that it will change the list until it says that
    // it has, code may vanish.
    static bool is_changing;
    if (!is_changing) {
        ll_schedule_hold();
        is_changing = true;
    }
    if (_r_debug.r_state == RT_CONSISTENT) {
        arm_what_is_loaded();
        is_changing = false;
        ll_schedule_let_go();
    }
}

static void note_unseen_sites(void) {
    char text[160];
    char* end = ll_append_text(ll_append_count(text, totals.unseen), " of ");
    ll_append_text(ll_append_count(end, totals.sites),
                   " loads and stores that may touch the heap are not seen; a block"
                   " that only they use looks stale");
    ll_process_note_not_seen(LL_NOT_SEEN_accesses, 0, text);
}

bool ll_arming_trapped(void* signal_context) {
    ucontext_t* context = signal_context;
    greg_t* pc = &context->uc_mcontext.gregs[REG_RIP];
    if (!ll_arm.is_poked || !ll_change_was_trap((uintptr_t)*pc - 1)) {
        return false;
    }
    --*pc;
    return true;
}

void ll_arming_code_is_made(void) {
    static bool is_noted;
    if (!__atomic_exchange_n(&is_noted, true, __ATOMIC_RELAXED)) {
        ll_process_note_not_seen(
            LL_NOT_SEEN_accesses, 0,
            "the program makes code while it runs: accesses in it"
            " are not seen; a block that only it uses looks stale");
    }
}

void ll_arming_code_is_changed(const void* start, size_t size_bytes) {
    if (ll_arm_leave_text((uintptr_t)start, (uintptr_t)start + size_bytes)) {
        ll_schedule_hold();
        ll_schedule_let_go();
    }
}

void ll_arming_give_up_traps(void) {
    if (ll_arm.is_poked && ll_touches_on) {
        ll_schedule_stop();
        ll_process_note_not_seen(LL_NOT_SEEN_accesses, 0,
                                 "the program uses breakpoints itself: code is sampled"
                                 " no more");
    }
}

void ll_arming_end(void) {
    ll_schedule_stop();
    ll_arm_disarm_all();
    has_ended = true;
    ll_process_note_not_seen(LL_NOT_SEEN_accesses, 0,
                             "code is sampled no more, since the process limited its"
                             " own address space");
}

// Threads that run code see a write to it as a whole, or it must be poked.
static bool choose_way_of_changes(void) {
    if (!ll_options.text_poke && ll_probe_code_changes_whole()) {
        return true;
    }
    if (!ll_change_by_poking()) {
        return false;
    }
    ll_signals_take_traps();
    return true;
}

void ll_arming_start(void) {
    if (!ll_options_have_lens("accesses") || !ll_process_is_watched()) {
        return;
    }
    if (!choose_way_of_changes()) {
        ll_process_note_not_seen(LL_NOT_SEEN_accesses, 0,
                                 "code cannot be changed safely on this system");
        return;
    }
    if (ll_heap_twin_distance() == 0 || !ll_schedule_start() || !ll_siblings_start()) {
        ll_process_note_not_seen(LL_NOT_SEEN_accesses, 0,
                                 "there is no memory for what is known of accesses");
        return;
    }
    ll_touches_start();
    arm_what_is_loaded();
    if (totals.unseen > 0) {
        note_unseen_sites();
    }
    totals.are_noted = true;
    if (!ll_own_thread_start(ll_schedule_run)) {
        ll_process_note_not_seen(LL_NOT_SEEN_accesses, 0,
                                 "no thread could be started: code is sampled once");
    }
}
