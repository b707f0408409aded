#include "record/recording.h"

#include <string.h>
#include <time.h>

#include "base/copy.h"
#include "base/crc32.h"
#include "format/records.h"
#include "os/memory.h"
#include "os/syscall.h"
#include "record/append.h"

enum { CHUNK_SIZE = 256 * 1024, PATH_SIZE = 4096 };

static struct {
    char path[PATH_SIZE]; // "" until started
    uint32_t pid;         // of the process written about
    uint32_t writer;      // of the process that writes; another one in a copy
    uint64_t started_ns;  // names the process for good, together with `pid`
    uint32_t sequence;    // of the next chunk of this writer
    uint64_t identity;
    uint8_t* chunk;      // header and records; NULL until the first record
    size_t chunk_length; // bytes in use, the header included
} recording;

static void become_this_process(void);
static bool have_chunk(void);
static void append_bytes(const void* data, size_t length);

bool ll_recording_start(const char* path) {
    size_t length = strlen(path);
    if (length == 0 || length >= PATH_SIZE) {
        return false;
    }
    memcpy(recording.path, path, length + 1);
    become_this_process();
    return true;
}

void ll_recording_fork_child(void) {
    become_this_process();
}

void ll_recording_copy(void) {
    // What the original has not written yet it will write itself.
    recording.chunk_length = sizeof(struct ll_record_chunk_header);
    recording.writer = (uint32_t)ll_syscall(SYS_getpid);
    recording.sequence = 0;
}

uint64_t ll_recording_identity(void) {
    return recording.identity;
}

void ll_record(uint32_t tag, const void* fields, size_t fields_length, const void* text,
               size_t text_length) {
    const size_t overhead = sizeof(struct ll_record_chunk_header) +
                            sizeof(struct ll_record_record_header) + fields_length;
    if (text_length > CHUNK_SIZE - overhead) {
        text_length = CHUNK_SIZE - overhead;
    }
    struct ll_record_record_header header = {
        .tag = tag, .length = (uint32_t)(fields_length + text_length)};
    size_t needed = sizeof header + header.length;
    if (recording.chunk_length + needed > CHUNK_SIZE) {
        ll_recording_flush();
    }
    if (have_chunk()) {
        append_bytes(&header, sizeof header);
        append_bytes(fields, fields_length);
        append_bytes(text, text_length);
    }
}

bool ll_recording_flush(void) {
    struct ll_record_chunk_header header = {
        .magic = LL_CHUNK_MAGIC,
        .pid = recording.pid,
        .sequence = recording.sequence,
        .started_ns = recording.started_ns,
        .writer = recording.writer,
    };
    if (recording.chunk == NULL || recording.chunk_length <= sizeof header) {
        return true;
    }
    header.length = (uint32_t)(recording.chunk_length - sizeof header);
    header.crc = ll_crc32(recording.chunk + sizeof header, header.length);
    memcpy(recording.chunk, &header, sizeof header);
    size_t length = recording.chunk_length;
    recording.chunk_length = sizeof header;
    recording.sequence++;
    return ll_append(recording.path, recording.chunk, length);
}

void ll_recording_keep_open(void) {
    if (recording.path[0] != '\0') {
        ll_append_keep_open(recording.path);
    }
}

int ll_recording_kept_descriptor(void) {
    return ll_append_kept_descriptor();
}

static void become_this_process(void) {
    struct timespec now = {0};
    (void)ll_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    recording.started_ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
    recording.pid = (uint32_t)ll_syscall(SYS_getpid);
    recording.writer = recording.pid;
    recording.sequence = 0;
    recording.identity++;
    recording.chunk_length = sizeof(struct ll_record_chunk_header);
}

static bool have_chunk(void) {
    if (recording.chunk == NULL && recording.path[0] != '\0') {
        recording.chunk = ll_memory_map(CHUNK_SIZE);
    }
    return recording.chunk != NULL;
}

static void append_bytes(const void* data, size_t length) {
    if (length > 0) {
        // Records hold addresses of blocks.
        ll_copy(recording.chunk + recording.chunk_length, data, length);
        recording.chunk_length += length;
    }
}
