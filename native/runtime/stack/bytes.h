// Reads the bytes of unwind tables and never past their end: after the first read that
// would, the cursor is `bad` and gives zeros.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"

struct ll_bytes {
    const uint8_t* at;
    const uint8_t* end;
    bool bad;
};

LL_INLINE void ll_bytes_skip(struct ll_bytes* bytes, uint64_t count) {
    if (count > (uint64_t)(bytes->end - bytes->at)) {
        bytes->bad = true;
        bytes->at = bytes->end;
    } else {
        bytes->at += count;
    }
}

LL_INLINE uint64_t ll_bytes_fixed(struct ll_bytes* bytes, unsigned size_bytes) {
    const uint8_t* start = bytes->at;
    uint64_t value = 0;
    ll_bytes_skip(bytes, size_bytes);
    if (!bytes->bad) {
        memcpy(&value, start, size_bytes);
    }
    return value;
}

LL_INLINE uint8_t ll_bytes_u8(struct ll_bytes* bytes) {
    return (uint8_t)ll_bytes_fixed(bytes, 1);
}

LL_INLINE uint32_t ll_bytes_u32(struct ll_bytes* bytes) {
    return (uint32_t)ll_bytes_fixed(bytes, 4);
}

// A number of 1, 2, 4 or 8 bytes with its sign.
LL_INLINE int64_t ll_bytes_signed(struct ll_bytes* bytes, unsigned size_bytes) {
    unsigned unused_bits = 64 - 8 * size_bytes;
    return (int64_t)(ll_bytes_fixed(bytes, size_bytes) << unused_bits) >> unused_bits;
}

// LEB128 numbers; bits beyond the 64th are dropped.
uint64_t ll_bytes_uleb(struct ll_bytes* bytes);
int64_t ll_bytes_sleb(struct ll_bytes* bytes);

// A pointer in one of the DW_EH_PE_* encodings; `data_base` is what "relative to data"
// means. Indirect ones give the address of the pointer. LL_ENCODING_OMITTED is 0.
enum { LL_ENCODING_OMITTED = 0xff };
uint64_t ll_bytes_encoded(struct ll_bytes* bytes, uint8_t encoding,
                          uintptr_t data_base);

// Bytes that a value in this encoding takes, 0 when that varies.
unsigned ll_encoding_size(uint8_t encoding);
