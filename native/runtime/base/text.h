// Writes text without the C library, which may not be ready yet or may be patched.
#pragma once
#include <stdint.h>

#include "base/attributes.h"

// Each writes behind `end`, closes with a NUL byte and returns where that lies.
LL_INLINE char* ll_append_text(char* end, const char* text) {
    while (*text != '\0') {
        *end++ = *text++;
    }
    *end = '\0';
    return end;
}

LL_INLINE char* ll_append_digits(char* end, uint64_t number, unsigned group) {
    char digits[sizeof "18,446,744,073,709,551,615"];
    char* digit = digits + sizeof digits - 1;
    *digit = '\0';
    unsigned count = 0;
    do {
        if (count > 0 && count % group == 0) {
            *--digit = ',';
        }
        *--digit = (char)('0' + number % 10);
        number /= 10;
        count++;
    } while (number > 0);
    return ll_append_text(end, digit);
}

LL_INLINE char* ll_append_number(char* end, uint64_t number) {
    return ll_append_digits(end, number, UINT32_MAX);
}

// In groups of three digits, as the numbers in reports are.
LL_INLINE char* ll_append_count(char* end, uint64_t count) {
    return ll_append_digits(end, count, 3);
}
