// What every random program begins with; `main` is continued by random statements.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CASE __attribute__((noipa)) static
#define PAGE 4096
// The compiler leaves out an allocation that nobody looks at.
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

struct node {
    struct node* volatile f[4];
};

struct copy {
    struct node* f[4];
};

static struct node* volatile s[12];
static char* volatile inner[4];
// Each points to the second page of a mapping.
static struct node* volatile* volatile m[2];
static void* libraries[2];
static struct node* volatile* volatile l[2];
static volatile size_t nothing = 0;
static volatile size_t too_much = SIZE_MAX / 4;

// The compiler knows nothing of it, and leaves all calls in.
static void* (*volatile fill)(void*, int, size_t) = memset;

CASE void scrub(void) {
    volatile char room[16384];
    for (unsigned i = 0; i < sizeof room; i++) {
        room[i] = 0;
    }
}

CASE void empty(void* result) {
    (void)result;
}

CASE void copy_by_string(void* to, const void* from, size_t size) {
    size_t words = size / 8;
    // Upwards or downwards, so that words that overlap are read before they are
    // overwritten.
    if ((uintptr_t)to < (uintptr_t)from) {
        __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words)::"memory");
    } else {
        to = (char*)to + size - 8;
        from = (const char*)from + size - 8;
        __asm__ volatile("std; rep movsq; cld"
                         : "+D"(to), "+S"(from), "+c"(words)::"memory");
    }
}

CASE void fill_by_string(void* to, int value, size_t size) {
    size_t words = size / 8;
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(words) : "a"((long)value) : "memory");
}

CASE void* map(volatile void* at, int flags) {
    char* start =
        mmap(at == NULL ? NULL : (char*)at - PAGE, 2 * PAGE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return start + PAGE;
}

CASE void unmap(volatile void* at) {
    munmap((char*)at - PAGE, 2 * PAGE);
}

CASE void shrink(struct node* volatile* volatile* mapping) {
    char* start = (char*)*mapping - PAGE;
    mremap(start, 2 * PAGE, PAGE, 0);
    mmap(start + PAGE, PAGE, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

CASE struct node* take(struct node* volatile* slot) {
    struct node* taken = *slot;
    *slot = NULL;
    return taken;
}

CASE int drop_taken(struct node* volatile* slot) {
    struct node* mine = take(slot);
    __asm__ volatile("" : : "r"(mine));
    return 4;
}

CASE void* open_library(int number, const char* path) {
    libraries[number] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return dlsym(libraries[number], "held");
}

static __thread struct node* volatile of_thread;

static void* keep_in_variable(void* slot) {
    of_thread = take(slot);
    return NULL;
}

static void* keep_for_a_while(void* slot) {
    of_thread = take(slot);
    of_thread = NULL;
    return NULL;
}

static void* keep_on_stack(void* slot) {
    struct node* volatile mine = take(slot);
    (void)mine;
    pthread_exit(NULL);
}

CASE void in_thread(void* (*routine)(void*), struct node* volatile* slot) {
    pthread_t thread;
    pthread_create(&thread, NULL, routine, (void*)slot);
    pthread_join(thread, NULL);
}

CASE struct node* make(void) {
    struct node* made = calloc(1, sizeof *made);
    __asm__ volatile("" : "+r"(made));
    return made;
}

CASE void make_into(struct node** made) {
    *made = calloc(1, sizeof **made);
}

CASE int hold_here(void) {
    struct node* mine = calloc(1, sizeof *mine);
    KEEP(mine);
    return 1;
}

CASE int hold_result(void) {
    struct node* mine = make();
    mine->f[1] = NULL;
    return 2;
}

CASE int hold_in_caller(void) {
    struct node* mine;
    make_into(&mine);
    mine->f[2] = NULL;
    return 3;
}

int main(int argc, char** argv) {
    (void)argc;
