// Signal handlers that allocate and free while the thread they interrupt does the same.
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "blocks.h"
#include "check.h"
#include "heap/inspect.h"
#include "heap/quick.h"

enum { OWN_MAX = 64, HANDLER_MAX = 64, SECONDS = 2 };

static struct patterned handler_blocks[HANDLER_MAX];
static uint32_t handler_random = 99;
static volatile sig_atomic_t handled;
static volatile sig_atomic_t damaged;

// What the interrupted code offers the handler to free.
static struct patterned* volatile offered;

static struct patterned allocate(uint32_t* random_state) {
    size_t size = random_size(random_state);
    struct patterned block = {ll_heap_allocate(size, 1), size, 1};
    pattern_fill(block);
    return block;
}

// The thread keeps its heap to itself from finding a block to releasing it.
static bool release_quickly(struct patterned block) {
    struct ll_quick_block found;
    if (!ll_quick_find(block.start, &found)) {
        return ll_heap_release(block.start);
    }
    bool is_sound =
        ll_quick_size(found) == block.size_bytes && pattern_is_intact(block);
    ll_quick_release(found);
    return is_sound;
}

static void release(struct patterned* block) {
    if (block->start != NULL &&
        (!pattern_is_intact(*block) || !release_quickly(*block))) {
        damaged = 1;
    }
    block->start = NULL;
}

static void on_signal(int signal) {
    (void)signal;
    for (int i = 0; i < 8; i++) {
        struct patterned* block =
            &handler_blocks[next_random(&handler_random) % HANDLER_MAX];
        release(block);
        *block = allocate(&handler_random);
    }
    if (offered != NULL) {
        release(offered);
        offered = NULL;
    }
    handled++;
}

static void start_timer(long microseconds) {
    struct itimerval interval = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &interval, NULL);
}

static void work_until(time_t end) {
    struct patterned own[OWN_MAX] = {{NULL, 0, 0}};
    static struct patterned gift;
    uint32_t random_state = 5;
    while (time(NULL) < end) {
        struct patterned* block = &own[next_random(&random_state) % OWN_MAX];
        release(block);
        *block = allocate(&random_state);
        if (offered == NULL) {
            gift = allocate(&random_state);
            offered = &gift;
        }
    }
    start_timer(0);
    for (int i = 0; i < OWN_MAX; i++) {
        release(&own[i]);
    }
    release(&gift);
}

int main(void) {
    CHECK(ll_heap_start());
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    start_timer(100);
    work_until(time(NULL) + SECONDS);
    for (int i = 0; i < HANDLER_MAX; i++) {
        release(&handler_blocks[i]);
    }
    CHECK(handled > 100);
    CHECK(damaged == 0);
    CHECK(ll_heap_totals().live_blocks == 0);
    return failures != 0;
}
