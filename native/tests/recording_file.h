// A recording for tests: makes an empty one, and reads back what was written.
#pragma once
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32.h"
#include "format/records.h"

struct recording_file {
    char path[64];
    uint8_t* bytes; // contents when last read
    size_t length;
};

// One record of the file, in order.
struct found_record {
    const struct ll_record_chunk_header* chunk;
    uint32_t tag;
    const uint8_t* data; // fields and text
    uint32_t length;
};

static void recording_file_make(struct recording_file* file) {
    struct ll_record_file_header header = {.magic = LL_FILE_MAGIC,
                                           .version = LL_RECORDING_VERSION};
    *file = (struct recording_file){.path = "/tmp/leakline-test-XXXXXX"};
    int descriptor = mkstemp(file->path);
    bool made = write(descriptor, &header, sizeof header) == sizeof header;
    close(descriptor);
    if (!made) {
        abort();
    }
}

static void recording_file_read(struct recording_file* file) {
    int descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    fstat(descriptor, &status);
    free(file->bytes);
    file->length = (size_t)status.st_size;
    file->bytes = malloc(file->length);
    if (read(descriptor, file->bytes, file->length) != (ssize_t)file->length) {
        abort();
    }
    close(descriptor);
}

static void recording_file_remove(struct recording_file* file) {
    unlink(file->path);
    free(file->bytes);
}

// Calls `visit` for every complete record in the first `length` bytes. Returns their
// number, or -1 when a complete chunk does not match its checksum or magic.
static long recording_file_visit(const struct recording_file* file, size_t length,
                                 void (*visit)(const struct found_record*, void*),
                                 void* context) {
    long count = 0;
    size_t at = sizeof(struct ll_record_file_header);
    while (at + sizeof(struct ll_record_chunk_header) <= length) {
        const struct ll_record_chunk_header* chunk = (const void*)(file->bytes + at);
        at += sizeof *chunk;
        size_t end = at + chunk->length < length ? at + chunk->length : length;
        if (chunk->magic != LL_CHUNK_MAGIC ||
            (end == at + chunk->length &&
             ll_crc32(file->bytes + at, chunk->length) != chunk->crc)) {
            return -1;
        }
        while (at + sizeof(struct ll_record_record_header) <= end) {
            const struct ll_record_record_header* header =
                (const void*)(file->bytes + at);
            at += sizeof *header;
            if (at + header->length > end) {
                break;
            }
            struct found_record record = {chunk, header->tag, file->bytes + at,
                                          header->length};
            at += header->length;
            count++;
            if (visit != NULL) {
                visit(&record, context);
            }
        }
        at = end;
    }
    return count;
}
