// Numbers and pointers as DWARF writes them.
#include "stack/bytes.h"

enum { RELATIVE_TO_PC = 0x10, RELATIVE_TO_DATA = 0x30, APPLICATION = 0x70 };

// The value without its sign, and in `*end` the shift behind its last group of 7 bits.
static uint64_t leb_value(struct ll_bytes* bytes, unsigned* end, uint8_t* last) {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = ll_bytes_u8(bytes);
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        shift += 7;
    } while (byte & 0x80);
    *end = shift;
    *last = byte;
    return value;
}

uint64_t ll_bytes_uleb(struct ll_bytes* bytes) {
    unsigned end;
    uint8_t last;
    return leb_value(bytes, &end, &last);
}

int64_t ll_bytes_sleb(struct ll_bytes* bytes) {
    unsigned end;
    uint8_t last;
    uint64_t value = leb_value(bytes, &end, &last);
    bool is_negative = end < 64 && last & 0x40;
    return (int64_t)(is_negative ? value | ~UINT64_C(0) << end : value);
}

unsigned ll_encoding_size(uint8_t encoding) {
    switch (encoding & 0x07) {
    case 0x00:
    case 0x04:
        return 8;
    case 0x02:
        return 2;
    case 0x03:
        return 4;
    default:
        return 0;
    }
}

static uint64_t encoded_value(struct ll_bytes* bytes, uint8_t encoding) {
    unsigned size_bytes = ll_encoding_size(encoding);
    bool is_signed = encoding & 0x08;
    if (size_bytes == 0) {
        return is_signed ? (uint64_t)ll_bytes_sleb(bytes) : ll_bytes_uleb(bytes);
    }
    return is_signed ? (uint64_t)ll_bytes_signed(bytes, size_bytes)
                     : ll_bytes_fixed(bytes, size_bytes);
}

uint64_t ll_bytes_encoded(struct ll_bytes* bytes, uint8_t encoding,
                          uintptr_t data_base) {
    if (encoding == LL_ENCODING_OMITTED) {
        return 0;
    }
    uintptr_t field = (uintptr_t)bytes->at;
    uint64_t value = encoded_value(bytes, encoding);
    switch (encoding & APPLICATION) {
    case 0:
        return value;
    case RELATIVE_TO_PC:
        return value + field;
    case RELATIVE_TO_DATA:
        return value + data_base;
    default:
        bytes->bad = true;
        return 0;
    }
}
