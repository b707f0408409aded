// Faults that are told: by code and by system calls, who made them, and that nobody
// waits any more once the descriptor is closed.
#include "os/faults.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "os/presence.h"

enum { PAGES = 4, PAGE = 4096 };

static char* pages;
static int file;

struct toucher {
    int tid;
    int by_call;
    long result;
};

// Page 1, by code or by a system call; it holds a one.
static void* touch(void* context) {
    struct toucher* toucher = context;
    __atomic_store_n(&toucher->tid, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    if (toucher->by_call) {
        toucher->result = pread(file, pages + PAGE, 1, PAGE);
    } else {
        toucher->result = *(volatile char*)(pages + PAGE);
    }
    return NULL;
}

static void fault_is_told_and_let_go(const struct ll_faults* faults, int by_call) {
    struct toucher toucher = {.by_call = by_call};
    struct ll_fault told = {0};
    pthread_t thread;
    CHECK(ll_presence_drop((uintptr_t)pages, PAGES * PAGE));
    CHECK(pthread_create(&thread, NULL, touch, &toucher) == 0);
    CHECK(ll_faults_await(faults, &told, 1) == 1);
    CHECK(told.page == (uintptr_t)pages + PAGE);
    CHECK(told.tid == __atomic_load_n(&toucher.tid, __ATOMIC_SEQ_CST));
    ll_faults_let_go(faults, told.page);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(toucher.result == 1);
}

static void closing_lets_all_go(struct ll_faults* faults) {
    struct toucher toucher = {0};
    struct ll_fault told;
    pthread_t thread;
    CHECK(ll_presence_drop((uintptr_t)pages, PAGES * PAGE));
    CHECK(pthread_create(&thread, NULL, touch, &toucher) == 0);
    CHECK(ll_faults_await(faults, &told, 1) == 1);
    ll_faults_close(faults);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(toucher.result == 1);
}

static void a_page_that_is_there_wakes_all_the_same(const struct ll_faults* faults) {
    ll_faults_let_go(faults, (uintptr_t)pages + PAGE);
    CHECK(pages[PAGE] == 1);
}

int main(void) {
    struct ll_faults faults;
    file = memfd_create("faults", 0);
    CHECK(ftruncate(file, PAGES * PAGE) == 0);
    pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    for (int i = 0; i < PAGES; i++) {
        pages[i * PAGE] = 1;
    }
    if (!ll_faults_open_told(&faults)) {
        CHECK(faults.descriptor == -1);
        CHECK(syscall(SYS_userfaultfd, O_CLOEXEC) < 0);
        CHECK(open("/dev/userfaultfd", O_RDWR) < 0);
        return failures;
    }
    CHECK(ll_faults_register(&faults, (uintptr_t)pages, PAGES * PAGE));
    fault_is_told_and_let_go(&faults, 0);
    fault_is_told_and_let_go(&faults, 1);
    a_page_that_is_there_wakes_all_the_same(&faults);
    closing_lets_all_go(&faults);
    return failures;
}
