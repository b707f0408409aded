// The life of a process as a plain library: looks by many threads, children by fork,
// copies that look while the process goes on, and what they write.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "format/records.h"
#include "heap/heap.h"
#include "lens/roots.h"
#include "process/process.h"

enum { THREADS = 6, LOOKS_PER_THREAD = 20 };

static char recording[] = "/tmp/leakline-test-XXXXXX";

// Starts the test anew with the option in its environment, where the runtime reads it.
static void begin_again_with_recording(char** arguments) {
    char options[64];
    struct ll_record_file_header header = {LL_FILE_MAGIC, LL_RECORDING_VERSION, 0};
    int file = mkstemp(recording);
    CHECK(write(file, &header, sizeof header) == (long)sizeof header);
    close(file);
    snprintf(options, sizeof options, "recording=%s", recording);
    setenv("LEAKLINE_OPTIONS", options, 1);
    execv("/proc/self/exe", arguments);
    abort();
}

static char* read_recording(const char* path, size_t* length) {
    int file = open(path, O_RDONLY);
    struct stat status;
    fstat(file, &status);
    *length = (size_t)status.st_size;
    char* bytes = malloc(*length);
    CHECK(read(file, bytes, *length) == status.st_size);
    close(file);
    return bytes;
}

// How many records of a kind the recording holds from `pid`, or from anyone for 0.
static unsigned count_records(const char* path, uint32_t tag, int pid) {
    size_t length;
    char* bytes = read_recording(path, &length);
    unsigned count = 0;
    for (size_t at = sizeof(struct ll_record_file_header); at < length;) {
        struct ll_record_chunk_header chunk;
        memcpy(&chunk, bytes + at, sizeof chunk);
        CHECK(chunk.magic == LL_CHUNK_MAGIC);
        at += sizeof chunk;
        size_t end = at + chunk.length;
        while (at < end) {
            struct ll_record_record_header record;
            memcpy(&record, bytes + at, sizeof record);
            count += record.tag == tag && (pid == 0 || chunk.pid == (u32)pid);
            at += sizeof record + record.length;
        }
    }
    free(bytes);
    return count;
}

static uint64_t look(uint32_t trigger) {
    struct ll_occasion here = LL_OCCASION_HERE(trigger, 0);
    return ll_process_look(&here);
}

static void a_lost_block_is_counted(void) {
    CHECK(look(LL_TRIGGER_program) == 0);
    void* block = ll_heap_allocate(100, 0);
    CHECK(look(LL_TRIGGER_program) == 1);
    ll_heap_release(block);
    CHECK(look(LL_TRIGGER_program) == 0);
}

__attribute__((unused)) static void* look_often(void* unused) {
    for (int i = 0; i < LOOKS_PER_THREAD; i++) {
        void* block = ll_heap_allocate(50, 0);
        look(LL_TRIGGER_program);
        ll_process_note_spawn(1, "program");
        ll_heap_release(block);
    }
    ll_heap_thread_exit();
    return unused;
}

__attribute__((unused)) static void many_threads_look(const char* path) {
    pthread_t threads[THREADS];
    unsigned before = count_records(path, LL_RECORD_snapshot_end, 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, look_often, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    look(LL_TRIGGER_program);
    unsigned after = count_records(path, LL_RECORD_snapshot_end, 0);
    CHECK(after - before == THREADS * LOOKS_PER_THREAD + 1);
    CHECK(count_records(path, LL_RECORD_spawn, 0) == THREADS * LOOKS_PER_THREAD);
}

static void end_child(void) {
    CHECK(look(LL_TRIGGER_quick_exit) == 0);
    void* block = ll_heap_allocate(30, 0);
    CHECK(block != NULL);
    CHECK(look(LL_TRIGGER_quick_exit) == 0); // the last look was taken before
    _Exit(failures);
}

static void a_child_is_a_process_of_its_own(const char* path) {
    void* inherited = ll_heap_allocate(20, 0);
    int status;
    ll_process_fork_prepare();
    pid_t child = fork();
    if (child == 0) {
        ll_process_fork_child();
        end_child();
    }
    ll_process_fork_parent();
    ll_process_note_fork(child);
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(look(LL_TRIGGER_program) == 1);
    ll_heap_release(inherited);
    CHECK(count_records(path, LL_RECORD_process_start, child) == 1);
    CHECK(count_records(path, LL_RECORD_process_end, child) == 1);
    CHECK(count_records(path, LL_RECORD_fork, getpid()) == 1);
}

static void a_copy_that_shares_memory_stays_silent(const char* path) {
    int status;
    pid_t child = fork(); // without a word to the runtime
    if (child == 0) {
        CHECK(!ll_process_is_watched());
        look(LL_TRIGGER_quick_exit);
        ll_process_note_fork(1);
        _Exit(failures);
    }
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(count_records(path, LL_RECORD_process_start, child) == 0);
}

static void a_snapshot_is_taken_by_a_copy(const char* path) {
    struct ll_occasion here = LL_OCCASION_HERE(LL_TRIGGER_demand, 0);
    unsigned before = count_records(path, LL_RECORD_snapshot_end, getpid());
    here.request = 77;
    ll_process_snapshot(&here);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1);
    for (int i = 0; i < 1000; i++) {
        if (count_records(path, LL_RECORD_snapshot_end, getpid()) == before + 1) {
            return;
        }
        usleep(10000);
    }
    CHECK(!"the copy did not answer");
}

static void the_end_is_recorded_once(const char* path) {
    look(LL_TRIGGER_exit);
    look(LL_TRIGGER_exit);
    CHECK(count_records(path, LL_RECORD_process_end, getpid()) == 1);
    CHECK(count_records(path, LL_RECORD_not_seen, 0) == 0);
}

int main(int count, char** arguments) {
    (void)count;
    const char* options = getenv("LEAKLINE_OPTIONS");
    if (options == NULL) {
        begin_again_with_recording(arguments);
        return 1;
    }
    const char* path = options + strlen("recording=");
    ll_process_start();
    ll_process_start();
    CHECK(ll_process_is_watched());
    CHECK(count_records(path, LL_RECORD_process_start, getpid()) == 1);
    ll_roots_limit(LL_ROOTS_REGISTERED);
    a_lost_block_is_counted();
#ifndef __SANITIZE_THREAD__
    // ThreadSanitizer takes locks of its own in the middle of a look, which a stopped
    // thread may hold.
    many_threads_look(path);
#endif
    a_child_is_a_process_of_its_own(path);
    a_copy_that_shares_memory_stays_silent(path);
    a_snapshot_is_taken_by_a_copy(path);
    the_end_is_recorded_once(path);
    unlink(path);
    return failures != 0;
}
