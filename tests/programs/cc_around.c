// What code around a note keeps is there behind it: in vector registers and below the
// stack pointer, also when the note is the first of its context, which the runtime then
// takes the stack of. Ends with 0 when all is as it was.
#include <stdlib.h>

#define SLOTS 4

// Missed by the checker: an element at an unknown index may be another one.
static void FN_fill(char** slots) {
    for (int i = 0; i < SLOTS; i++) {
        slots[i] = malloc(10);
    }
}

__attribute__((noinline)) static double sum_in_vectors(char** slots, double one) {
    double sums[8] = {one, 2 * one, 3 * one, 4 * one, 5 * one, 6 * one, 7 * one, one};
    for (int i = 0; i < SLOTS; i++) {
        slots[i] = NULL;
        for (int k = 0; k < 8; k++) {
            sums[k] += one;
        }
    }
    double sum = 0;
    for (int k = 0; k < 8; k++) {
        sum += sums[k];
    }
    return sum;
}

// A function without calls may keep variables where a call would put its frame.
__attribute__((noinline)) static long sum_below_stack(char** slots, long one) {
    volatile long below[12];
    for (int k = 0; k < 12; k++) {
        below[k] = one;
    }
    for (int i = 0; i < SLOTS; i++) {
        slots[i] = NULL;
    }
    long sum = 0;
    for (int k = 0; k < 12; k++) {
        sum += below[k];
    }
    return sum;
}

int main(int count, char** words) {
    (void)words;
    char* slots[SLOTS];
    FN_fill(slots);
    double in_vectors = sum_in_vectors(slots, count);
    FN_fill(slots);
    long below_stack = sum_below_stack(slots, count);
    return in_vectors == 29 + 8 * SLOTS && below_stack == 12 ? 0 : 1;
}
