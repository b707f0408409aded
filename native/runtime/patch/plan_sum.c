// Adler-32: the sum of all bytes and the sum of the sums after each byte, both modulo a
// prime. Sixteen bytes at a time, since a program starts no sooner than its plans are
// summed up.
#include <emmintrin.h>

#include "patch/plan_file.h"

// Neither sum overflows within so many bytes, a multiple of 16.
enum { MODULUS = 65521, STRIDE = 5552, BLOCK = 16 };

struct sums {
    uint32_t bytes;
    uint32_t prefixes;
};

static uint32_t total(__m128i lanes) {
    uint32_t lane[4];
    _mm_storeu_si128((__m128i*)lane, lanes);
    return lane[0] + lane[1] + lane[2] + lane[3];
}

// A byte counts in the sums after itself and after all bytes behind it.
static void add_blocks(struct sums* sums, const uint8_t* data, size_t count) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i first_weights = _mm_set_epi16(9, 10, 11, 12, 13, 14, 15, 16);
    const __m128i last_weights = _mm_set_epi16(1, 2, 3, 4, 5, 6, 7, 8);
    __m128i bytes = zero;
    __m128i bytes_before = zero; // of each block, over all blocks
    __m128i weighted = zero;
    for (size_t i = 0; i < count; i++) {
        __m128i block = _mm_loadu_si128((const __m128i*)(data + i * BLOCK));
        bytes_before = _mm_add_epi32(bytes_before, bytes);
        bytes = _mm_add_epi32(bytes, _mm_sad_epu8(block, zero));
        __m128i first = _mm_madd_epi16(_mm_unpacklo_epi8(block, zero), first_weights);
        __m128i last = _mm_madd_epi16(_mm_unpackhi_epi8(block, zero), last_weights);
        weighted = _mm_add_epi32(weighted, _mm_add_epi32(first, last));
    }
    sums->prefixes += BLOCK * ((uint32_t)count * sums->bytes + total(bytes_before));
    sums->prefixes += total(weighted);
    sums->bytes += total(bytes);
}

static void add_bytes(struct sums* sums, const uint8_t* data, size_t count) {
    for (size_t i = 0; i < count; i++) {
        sums->bytes += data[i];
        sums->prefixes += sums->bytes;
    }
}

uint32_t ll_plan_sum(uint32_t sum, const char* data, size_t size_bytes) {
    struct sums sums = {sum & 0xffff, sum >> 16};
    const uint8_t* byte = (const uint8_t*)data;
    while (size_bytes > 0) {
        size_t count = size_bytes < STRIDE ? size_bytes : STRIDE;
        add_blocks(&sums, byte, count / BLOCK);
        add_bytes(&sums, byte + count / BLOCK * BLOCK, count % BLOCK);
        sums.bytes %= MODULUS;
        sums.prefixes %= MODULUS;
        byte += count;
        size_bytes -= count;
    }
    return sums.prefixes << 16 | sums.bytes;
}
