// Changes code of its own file while it runs, and tells what the code then answers.
#include <leakline.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static int* allocate(void) {
    int* block = malloc(sizeof *block);
    *block = 1;
    return block;
}

// Two functions without loads or stores, each in a page of its own, between others.
extern int patched(void);
extern int replaced(void);
__asm__(".balign 4096\n"
        "patched: mov $1, %eax\n"
        "ret\n"
        ".balign 4096\n"
        "replaced: mov $1, %eax\n"
        "ret\n"
        ".balign 4096\n");

static const uint8_t answers_two[] = {0xb8, 2, 0, 0, 0, 0xc3};

int main(void) {
    int* block = allocate();
    void* patched_page = (void*)(uintptr_t)patched;
    void* replaced_page = (void*)(uintptr_t)replaced;
    int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    mprotect(patched_page, PAGE, all);
    memcpy(patched_page, answers_two, sizeof answers_two);
    mmap(replaced_page, PAGE, all, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memcpy(replaced_page, answers_two, sizeof answers_two);
    leakline_mark();
    printf("%d %d %d\n", *block, patched(), replaced());
    free(block);
    return 0;
}
