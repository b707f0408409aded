// Events that the recording tells of besides looks. Most wait in the current chunk and
// are written with the next look; those after which the process may vanish are not.
#include <stddef.h>
#include <string.h>

#include "format/records.h"
#include "lens/pages.h"
#include "process/life.h"
#include "process/process.h"
#include "process/vfork.h"
#include "record/recording.h"

// Takes the look lock if this process is watched and not yet at its end.
static bool begin_note(uint64_t* mask) {
    if (!ll_process_is_watched()) {
        return false;
    }
    *mask = ll_look_lock();
    if (ll_life.ended) {
        ll_look_unlock(*mask);
        return false;
    }
    ll_life_record_pending();
    return true;
}

static void note(uint32_t tag, const void* fields, size_t length, const char* text) {
    uint64_t mask;
    if (begin_note(&mask)) {
        ll_record(tag, fields, length, text, strlen(text));
        ll_look_unlock(mask);
    }
}

static void note_at_once(uint32_t tag, const void* fields, size_t length,
                         const char* text) {
    uint64_t mask;
    if (begin_note(&mask)) {
        ll_record(tag, fields, length, text, strlen(text));
        ll_recording_flush();
        ll_look_unlock(mask);
    }
}

void ll_life_record_pending(void) {
    if (!ll_life.start_recorded) {
        ll_life_record_start();
    }
    ll_vfork_record_execs();
}

void ll_life_record_not_seen(uint32_t reason, uint32_t detail, const char* sentence) {
    struct ll_record_not_seen fields = {.reason = reason, .detail = detail};
    ll_record(LL_RECORD_not_seen, &fields, sizeof fields, sentence, strlen(sentence));
}

void ll_process_note_fork(int child) {
    struct ll_record_fork fields = {.child_pid = (u32)child};
    note(LL_RECORD_fork, &fields, sizeof fields, "");
}

void ll_process_note_spawn(int child, const char* path) {
    struct ll_record_spawn fields = {.child_pid = (u32)child};
    note(LL_RECORD_spawn, &fields, sizeof fields, path);
}

void ll_process_note_suppressions(const char* text) {
    note(LL_RECORD_suppressions, NULL, 0, text);
}

void ll_process_note_not_seen(uint32_t reason, uint32_t detail, const char* sentence) {
    struct ll_record_not_seen fields = {.reason = reason, .detail = detail};
    note(LL_RECORD_not_seen, &fields, sizeof fields, sentence);
}

// A child of vfork, or another copy that the runtime does not know as a process.
static bool is_child_unknown(void) {
    return ll_life.watched && !ll_process_is_watched();
}

void ll_process_note_exec(const char* path) {
    if (is_child_unknown()) {
        ll_vfork_note_exec(path);
        return;
    }
    note_at_once(LL_RECORD_exec, NULL, 0, path);
    ll_pages_suspend();
}

void ll_process_note_exec_failed(int error) {
    if (is_child_unknown()) {
        ll_vfork_withdraw_exec();
        return;
    }
    ll_pages_go_on();
    struct ll_record_exec_failed fields = {.error = (u32)error};
    note(LL_RECORD_exec_failed, &fields, sizeof fields, "");
}

void ll_process_keep_recording_open(void) {
    uint64_t mask;
    if (begin_note(&mask)) {
        ll_recording_keep_open();
        ll_look_unlock(mask);
    }
}
