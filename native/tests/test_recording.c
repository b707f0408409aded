// The recording as the runtime writes it: whole under concurrent writers, silent when
// it cannot be written, and never a file of somebody else's.
#include "record/recording.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "check.h"
#include "recording_file.h"

static int count_descriptors(void) {
    int count = 0;
    for (int i = 0; i < 1100; i++) {
        count += fcntl(i, F_GETFD) >= 0;
    }
    return count;
}

static void record_text(const char* text) {
    ll_record(LL_RECORD_option, NULL, 0, text, strlen(text));
}

// The texts of all `option` records, joined by commas.
static void join_text(const struct found_record* record, void* context) {
    char* joined = context;
    if (record->tag == LL_RECORD_option) {
        strncat(joined, (const char*)record->data, record->length);
        strcat(joined, ",");
    }
}

static void records_come_back_in_order(void) {
    struct recording_file file;
    recording_file_make(&file);
    CHECK(ll_recording_start(file.path));
    int descriptors = count_descriptors();
    errno = E2BIG;
    record_text("one");
    struct ll_record_fork fork_record = {.child_pid = 17};
    ll_record(LL_RECORD_fork, &fork_record, sizeof fork_record, NULL, 0);
    record_text("two");
    CHECK(ll_recording_flush());
    CHECK(ll_recording_flush());
    CHECK(errno == E2BIG);
    CHECK(count_descriptors() == descriptors);
    recording_file_read(&file);
    char joined[64] = "";
    CHECK(recording_file_visit(&file, file.length, join_text, joined) == 3);
    CHECK(strcmp(joined, "one,two,") == 0);
    const struct ll_record_chunk_header* chunk = (const void*)(file.bytes + 16);
    CHECK(chunk->pid == (uint32_t)getpid() && chunk->writer == chunk->pid);
    CHECK(chunk->sequence == 0 && chunk->started_ns > 0);
    recording_file_remove(&file);
}

static void a_cut_anywhere_leaves_the_records_before_it(void) {
    struct recording_file file;
    recording_file_make(&file);
    CHECK(ll_recording_start(file.path));
    for (int i = 0; i < 40; i++) {
        char text[32];
        snprintf(text, sizeof text, "record %d", i * i * i);
        record_text(text);
        if (i % 7 == 6) {
            CHECK(ll_recording_flush());
        }
    }
    CHECK(ll_recording_flush());
    recording_file_read(&file);
    long before = 0;
    for (size_t cut = 16; cut <= file.length; cut++) {
        long count = recording_file_visit(&file, cut, NULL, NULL);
        CHECK(count == before || count == before + 1);
        before = count;
    }
    CHECK(before == 40);
    recording_file_remove(&file);
}

static void long_recordings_are_split_into_chunks(void) {
    struct recording_file file;
    recording_file_make(&file);
    CHECK(ll_recording_start(file.path));
    static char text[100000];
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 20; i++) {
        ll_record(LL_RECORD_option, NULL, 0, text, sizeof text);
    }
    CHECK(ll_recording_flush());
    recording_file_read(&file);
    CHECK(recording_file_visit(&file, file.length, NULL, NULL) == 20);
    CHECK(file.length > 2000000 && file.length < 2002000);
    recording_file_remove(&file);
}

static void keep_length(const struct found_record* record, void* context) {
    *(uint32_t*)context = record->length;
}

static void text_beyond_a_chunk_is_cut(void) {
    struct recording_file file;
    recording_file_make(&file);
    CHECK(ll_recording_start(file.path));
    static char text[400000];
    ll_record(LL_RECORD_option, NULL, 0, text, sizeof text);
    CHECK(ll_recording_flush());
    recording_file_read(&file);
    uint32_t length = 0;
    CHECK(recording_file_visit(&file, file.length, keep_length, &length) == 1);
    CHECK(length > 260000 && length < 262144);
    recording_file_remove(&file);
}

static bool writes_to(const char* path) {
    CHECK(ll_recording_start(path));
    record_text("hello");
    return ll_recording_flush();
}

static void only_recordings_are_written_to(void) {
    struct recording_file file;
    recording_file_make(&file);
    char other[80];
    snprintf(other, sizeof other, "%s.other", file.path);
    CHECK(!writes_to(other));
    CHECK(access(other, F_OK) != 0);
    CHECK(symlink(file.path, other) == 0);
    CHECK(!writes_to(other));
    unlink(other);
    CHECK(mkfifo(other, 0600) == 0);
    CHECK(!writes_to(other));
    unlink(other);
    int foreign = open(other, O_CREAT | O_WRONLY | O_EXCL, 0600);
    CHECK(write(foreign, "a diary of mine, do not touch", 29) == 29);
    CHECK(!writes_to(other));
    struct stat status;
    CHECK(fstat(foreign, &status) == 0 && status.st_size == 29);
    close(foreign);
    unlink(other);
    CHECK(!ll_recording_start(""));
    CHECK(writes_to(file.path));
    recording_file_remove(&file);
}

// Runs `act` in a child and returns its wait status.
static int in_child(void (*act)(void)) {
    pid_t child = fork();
    if (child == 0) {
        failures = 0;
        act();
        _exit(failures);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

static void write_beyond_file_size_limit(void) {
    struct rlimit limit = {100, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    static char text[1000];
    for (int i = 0; i < 2; i++) {
        ll_record(LL_RECORD_option, NULL, 0, text, sizeof text);
        CHECK(!ll_recording_flush());
    }
}

static bool file_size_signal_is_pending(void) {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGXFSZ);
}

static void write_without_raising_the_signal(void) {
    write_beyond_file_size_limit();
    CHECK(!file_size_signal_is_pending());
}

static void write_without_taking_the_programs_signal(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    raise(SIGXFSZ);
    write_beyond_file_size_limit();
    CHECK(file_size_signal_is_pending());
}

static void a_limit_on_file_size_does_not_kill(void) {
    struct recording_file file;
    recording_file_make(&file);
    CHECK(ll_recording_start(file.path));
    CHECK(in_child(write_without_raising_the_signal) == 0);
    CHECK(in_child(write_without_taking_the_programs_signal) == 0);
    recording_file_remove(&file);
}

enum { WRITERS = 4, CHUNKS_EACH = 200 };

static void write_many_chunks(void) {
    ll_recording_fork_child();
    for (int i = 0; i < CHUNKS_EACH; i++) {
        static char text[5000];
        memset(text, 'a' + i % 26, sizeof text);
        ll_record(LL_RECORD_option, NULL, 0, text, 1 + (size_t)(i * 37) % sizeof text);
        CHECK(ll_recording_flush());
    }
}

struct sequences {
    uint32_t pids[WRITERS];
    uint32_t next[WRITERS];
    bool in_order;
};

static void follow_sequence(const struct found_record* record, void* context) {
    struct sequences* sequences = context;
    unsigned i = 0;
    while (i + 1 < WRITERS && sequences->pids[i] != 0 &&
           sequences->pids[i] != record->chunk->pid) {
        i++;
    }
    sequences->pids[i] = record->chunk->pid;
    sequences->in_order &= record->chunk->sequence == sequences->next[i]++;
}

static void concurrent_writers_do_not_tear_chunks(void) {
    struct recording_file file;
    recording_file_make(&file);
    CHECK(ll_recording_start(file.path));
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            failures = 0;
            write_many_chunks();
            _exit(failures);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        waitpid(children[i], &status, 0);
        CHECK(status == 0);
    }
    recording_file_read(&file);
    struct sequences sequences = {.in_order = true};
    CHECK(recording_file_visit(&file, file.length, follow_sequence, &sequences) ==
          WRITERS * CHUNKS_EACH);
    CHECK(sequences.in_order);
    recording_file_remove(&file);
}

static void a_kept_descriptor_outlives_the_right_to_open(void) {
    struct recording_file file;
    recording_file_make(&file);
    CHECK(ll_recording_start(file.path));
    ll_recording_keep_open();
    int kept = ll_recording_kept_descriptor();
    CHECK(kept > 100);
    CHECK(chmod(file.path, 0) == 0);
    char moved[80];
    snprintf(moved, sizeof moved, "%s.moved", file.path);
    CHECK(rename(file.path, moved) == 0);
    record_text("still here");
    CHECK(ll_recording_flush());
    CHECK(rename(moved, file.path) == 0 && chmod(file.path, 0600) == 0);
    recording_file_read(&file);
    CHECK(recording_file_visit(&file, file.length, NULL, NULL) == 1);

    // The program puts a file of its own at the descriptor's number.
    FILE* own = tmpfile();
    CHECK(dup2(fileno(own), kept) == kept);
    CHECK(ll_recording_kept_descriptor() == -1);
    record_text("by name again");
    CHECK(ll_recording_flush());
    struct stat status;
    CHECK(fstat(fileno(own), &status) == 0 && status.st_size == 0);
    fclose(own);
    close(kept);
    recording_file_read(&file);
    CHECK(recording_file_visit(&file, file.length, NULL, NULL) == 2);
    recording_file_remove(&file);
}

static void keep_chunk(const struct found_record* record, void* context) {
    *(struct ll_record_chunk_header*)context = *record->chunk;
}

static void look_as_copy(void) {
    ll_recording_copy();
    record_text("seen by the copy");
    CHECK(ll_recording_flush());
}

static void a_copy_writes_under_the_identity_of_the_original(void) {
    struct recording_file file;
    recording_file_make(&file);
    CHECK(ll_recording_start(file.path));
    uint64_t identity = ll_recording_identity();
    record_text("not yet written when the copy is made");
    CHECK(in_child(look_as_copy) == 0);
    recording_file_read(&file);
    struct ll_record_chunk_header chunk = {0};
    CHECK(recording_file_visit(&file, file.length, keep_chunk, &chunk) == 1);
    CHECK(chunk.pid == (uint32_t)getpid() && chunk.writer != chunk.pid);
    CHECK(ll_recording_flush());
    CHECK(ll_recording_identity() == identity);
    ll_recording_fork_child();
    CHECK(ll_recording_identity() != identity);
    recording_file_remove(&file);
}

int main(void) {
    CHECK(ll_crc32("123456789", 9) == 0xcbf43926);
    CHECK(ll_crc32("", 0) == 0);
    records_come_back_in_order();
    a_cut_anywhere_leaves_the_records_before_it();
    long_recordings_are_split_into_chunks();
    text_beyond_a_chunk_is_cut();
    only_recordings_are_written_to();
    a_limit_on_file_size_does_not_kill();
    concurrent_writers_do_not_tear_chunks();
    a_kept_descriptor_outlives_the_right_to_open();
    a_copy_writes_under_the_identity_of_the_original();
    return failures != 0;
}
