// Arithmetic on vectors, of which nothing is known, beside blocks.
#include <stdlib.h>

typedef int four __attribute__((vector_size(16)));
typedef long wide __attribute__((vector_size(32)));

static four summed(const four* all, int n) {
    four sum = all[0];
    for (int i = 1; i < n; i++) {
        sum = sum + all[i] + all[0];
    }
    return sum;
}

void sum_of_vectors_bad(const four* all, int n) {
    char* p = malloc(8);
    if (summed(all, n)[1] > 3) {
        return;
    }
    free(p);
}

void converted_vectors_ok(const four* all) {
    char* p = malloc(8);
    wide each = __builtin_convertvector(all[0], wide) << 2;
    four back = __builtin_convertvector(each, four);
    if (back[0] != back[2]) {
        free(p);
        return;
    }
    free(p);
}
