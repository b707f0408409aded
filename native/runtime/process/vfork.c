#include "process/vfork.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "format/records.h"
#include "os/lock.h"
#include "os/syscall.h"
#include "record/recording.h"

enum { NOTES_MAX = 64, PATH_SIZE = 256 };

struct note {
    int child; // 0 if the note is free
    char path[PATH_SIZE];
};

static struct ll_lock lock; // held for a few instructions, never while waiting
static LL_BULK struct note notes[NOTES_MAX];

static struct note* find(int child) {
    for (int i = 0; i < NOTES_MAX; i++) {
        if (notes[i].child == child) {
            return &notes[i];
        }
    }
    return NULL;
}

void ll_vfork_note_exec(const char* path) {
    uint64_t mask = ll_signals_block();
    // In a copy made by fork without our knowledge the lock may never be free.
    if (ll_lock_try(&lock)) {
        struct note* note = find(0);
        if (note != NULL) {
            note->child = (int)ll_syscall(SYS_getpid);
            strncpy(note->path, path, PATH_SIZE - 1);
        }
        ll_lock_drop(&lock);
    }
    ll_signals_restore(mask);
}

void ll_vfork_withdraw_exec(void) {
    uint64_t mask = ll_signals_block();
    if (ll_lock_try(&lock)) {
        struct note* note = find((int)ll_syscall(SYS_getpid));
        if (note != NULL) {
            note->child = 0;
        }
        ll_lock_drop(&lock);
    }
    ll_signals_restore(mask);
}

void ll_vfork_record_execs(void) {
    if (!ll_lock_try(&lock)) {
        return;
    }
    for (int i = 0; i < NOTES_MAX; i++) {
        if (notes[i].child != 0) {
            struct ll_record_spawn fields = {.child_pid = (u32)notes[i].child};
            notes[i].child = 0;
            ll_record(LL_RECORD_spawn, &fields, sizeof fields, notes[i].path,
                      strlen(notes[i].path));
        }
    }
    ll_lock_drop(&lock);
}

void ll_vfork_forget(void) {
    ll_lock_renew(&lock);
    for (int i = 0; i < NOTES_MAX; i++) {
        if (notes[i].child != 0) {
            notes[i].child = 0;
        }
    }
}
