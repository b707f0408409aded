// Which modules are patched, and when: those the program starts with, before any of
// their code has run, and later ones when the loader has mapped them and announces it
// to debuggers, which is before it runs any of their code.
#include "entry/patching.h"

#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "base/options.h"
#include "base/text.h"
#include "entry/arming.h"
#include "entry/loaded.h"
#include "entry/new_context.h"
#include "entry/refining.h"
#include "entry/sentences.h"
#include "entry/site.h"
#include "format/records.h"
#include "lens/contexts.h"
#include "lens/loss_stacks.h"
#include "lens/stamps.h"
#include "lens/touches.h"
#include "lens/unloaded.h"
#include "patch/patch.h"
#include "patch/redirect.h"
#include "patch/shadow.h"
#include "patch/sites.h"
#include "process/process.h"
#include "stack/handed.h"

LL_THREAD_LOCAL uint32_t ll_unloading_site;

static void take_handed_contexts(const struct dl_phdr_info* info,
                                 const struct ll_sites* sites) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            uintptr_t start = info->dlpi_addr + segment->p_vaddr;
            ll_handed_add_code(start, start + segment->p_memsz,
                               sites->find_allocating());
        }
    }
}

// Code that was compiled to stamp its own losses is not patched.
static bool stamps_itself(const struct dl_phdr_info* info, struct ll_sites* sites) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE &&
            ll_sites_read((const void*)(info->dlpi_addr + segment->p_vaddr),
                          segment->p_filesz, sites)) {
            return true;
        }
    }
    return false;
}

static const char* sentence_for(struct ll_patch_result result) {
    if (result.refused != 0) {
        return "the system forbids to patch code: losses in it are not seen: ";
    }
    switch (result.verdict) {
    case LL_PLAN_OK:
        return NULL;
    case LL_PLAN_MISSING:
        return "there is no patch plan yet, losses in it are not seen: ";
    case LL_PLAN_UNSAFE:
        return "the patch plan can be written by others and was not used: ";
    case LL_PLAN_DAMAGED:
        return "the patch plan does not fit the loaded code and was not used: ";
    }
    return NULL;
}

static void note_for(const struct dl_phdr_info* info, struct ll_patch_result result) {
    const char* sentence = sentence_for(result);
    if (sentence != NULL) {
        ll_note_about_module(LL_NOT_SEEN_losses, (uint32_t)result.verdict, sentence,
                             info);
    }
}

// Whether the user wants a module left alone, as one that checks its own code.
static bool is_excepted(const char* path) {
    const char* slash = strrchr(path, '/');
    const char* name = slash == NULL ? path : slash + 1;
    size_t length = strlen(name);
    for (const char* at = ll_options.unpatched; *at != '\0';) {
        const char* end = strchrnul(at, ',');
        if ((size_t)(end - at) == length && strncmp(at, name, length) == 0) {
            return true;
        }
        at = *end == ',' ? end + 1 : end;
    }
    return false;
}

// Stores of all modules that were patched at the start, and those of them that are not
// seen.
static struct {
    uint32_t stores;
    uint32_t unseen;
    bool are_noted;
} totals;

static int reserve_for_one(struct dl_phdr_info* info, size_t size, void* unused) {
    (void)size;
    (void)unused;
    struct ll_patch_target target = ll_loaded_describe(info);
    struct ll_sites sites;
    if (!ll_loaded_is_left_alone(info, &target) && !stamps_itself(info, &sites) &&
        !is_excepted(ll_module_path(info))) {
        ll_patch_reserve(ll_options.plans, &target);
    }
    return 0;
}

// A loss by an unseen store leaves an older stamp in place.
static void note_unseen_stores(void) {
    if (totals.unseen > 0) {
        char text[128];
        char* end = ll_append_text(ll_append_count(text, totals.unseen), " of ");
        ll_append_text(ll_append_count(end, totals.stores),
                       " stores run unseen; what they lost has an older place");
        ll_process_note_not_seen(LL_NOT_SEEN_losses, 0, text);
    }
    totals.are_noted = true;
}

static void count_unseen(const struct dl_phdr_info* info, uint32_t stores,
                         uint32_t unseen) {
    if (!totals.are_noted) {
        totals.stores += stores;
        totals.unseen += unseen;
    } else if (unseen > 0) {
        char text[128];
        char* end = ll_append_text(ll_append_count(text, unseen), " of ");
        ll_append_text(ll_append_count(end, stores),
                       " stores run unseen, and what they lost has an older place,"
                       " in ");
        ll_note_about_module(LL_NOT_SEEN_losses, LL_PLAN_OK, text, info);
    }
}

static int patch_one(struct dl_phdr_info* info, size_t size, void* unused) {
    (void)size;
    (void)unused;
    struct ll_patch_target target = ll_loaded_describe(info);
    struct ll_sites sites;
    if (ll_loaded_is_left_alone(info, &target)) {
        return 0;
    }
    if (stamps_itself(info, &sites)) {
        ll_sites_register(&sites);
        take_handed_contexts(info, &sites);
        return 0;
    }
    if (is_excepted(ll_module_path(info))) {
        ll_note_about_module(
            LL_NOT_SEEN_losses, LL_PLAN_OK,
            "left unpatched as asked, losses in it are not seen: ", info);
    } else {
        struct ll_patch_result result = ll_patch_module(ll_options.plans, &target);
        note_for(info, result);
        count_unseen(info, result.stores, result.stores - result.applied);
    }
    return 0;
}

static void patch_what_is_loaded(void) {
    ll_patch_begin_census();
    ll_sites_begin_census();
    ll_handed_forget_code();
    dl_iterate_phdr(reserve_for_one, NULL);
    dl_iterate_phdr(patch_one, NULL);
    ll_sites_end_census();
    ll_patch_end_census();
    ll_loss_stacks_forget();
}

static int note_variables(struct dl_phdr_info* info, size_t size, void* unused) {
    (void)size;
    (void)unused;
    struct ll_patch_target target = ll_loaded_describe(info);
    bool may_go = info->dlpi_name[0] != '\0' && !ll_loaded_is_left_alone(info, &target);
    for (int i = 0; i < info->dlpi_phnum && may_go; i++) {
        const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) != 0) {
            ll_unloaded_note(info->dlpi_addr, start, start + segment->p_memsz);
        }
    }
    return 0;
}

static int keep_loaded(struct dl_phdr_info* info, size_t size, void* unused) {
    (void)size;
    (void)unused;
    ll_unloaded_keep(info->dlpi_addr);
    return 0;
}

// The loader tells when destructors have run and nothing is unmapped yet, and when all
// that goes is gone.
static void follow_unloading(void) {
    if (_r_debug.r_state == RT_DELETE) {
        dl_iterate_phdr(note_variables, NULL);
    } else if (_r_debug.r_state == RT_CONSISTENT) {
        dl_iterate_phdr(keep_loaded, NULL);
        ll_unloaded_stamp(ll_unloading_site);
    }
}

static void on_modules_changed(void) {
    int saved_errno = errno;
    if (ll_stamps_on && ll_process_is_watched()) {
        follow_unloading();
    }
    if (ll_stamps_on && _r_debug.r_state == RT_CONSISTENT && ll_process_is_watched()) {
        patch_what_is_loaded();
    }
    // Patches are made for code as it is in the file, arming for patched code.
    ll_arming_modules_change();
    errno = saved_errno;
}

static bool follow_loader(void) {
    return _r_debug.r_brk != 0 &&
           ll_redirect_empty((uintptr_t)_r_debug.r_brk, on_modules_changed);
}

static void start_loss(void) {
    if (ll_options.loss_stacks && !ll_loss_stacks_start()) {
        ll_process_note_not_seen(LL_NOT_SEEN_losses, 0,
                                 "whole call stacks of losses are not told by this "
                                 "processor");
    }
    if (!ll_stamps_start()) {
        ll_process_note_not_seen(LL_NOT_SEEN_losses, 0,
                                 "there is no address space for loss stamps");
        return;
    }
    if (!ll_refining_start()) {
        return;
    }
    if (!ll_contexts_start(ll_loss_page(), ll_new_context_hook())) {
        ll_process_note_not_seen(LL_NOT_SEEN_losses, 0,
                                 "there is no memory for the call stacks of losses");
    }
    patch_what_is_loaded();
    note_unseen_stores();
}

void ll_patching_start(void) {
    if (!ll_process_is_watched()) {
        return;
    }
    if (ll_options_have_lens("loss")) {
        start_loss();
    }
    ll_arming_start();
    if ((ll_stamps_on || ll_touches_on) && !follow_loader()) {
        ll_process_note_not_seen(ll_stamps_on ? LL_NOT_SEEN_losses
                                              : LL_NOT_SEEN_accesses,
                                 0, "libraries loaded later are not watched");
    }
}

void ll_patching_end(void) {
    if (!ll_stamps_on || !ll_process_is_watched() || !ll_patch_can_be_undone()) {
        return;
    }
    // Sites are armed for the code as it is patched.
    if (ll_touches_on) {
        ll_arming_end();
    }
    if (ll_patch_undo()) {
        ll_sites_withdraw();
        ll_stamps_end();
        ll_process_note_not_seen(
            LL_NOT_SEEN_losses, 0,
            "losses are not seen, since it limited its own address space");
    }
}
