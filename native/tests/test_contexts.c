// The table of calling contexts: what was learned is found again, also by many threads.
#include "lens/contexts.h"

#include <pthread.h>

#include "check.h"

enum { CONTEXTS = 100000, THREADS = 4 }; // more than the smaller parts of it hold

static void no_hook(uint32_t context) {
    (void)context;
}

static uint32_t context_at(uint32_t number) {
    return (number + 1) * 2654435761U;
}

static void unknown_contexts_have_no_stack(void) {
    CHECK(!ll_context_is_known(77));
    CHECK(ll_context_stack(77) == 0);
}

static void a_context_keeps_its_first_stack(void) {
    ll_context_learn(5, 50);
    ll_context_learn(5, 51);
    CHECK(ll_context_is_known(5));
    CHECK(ll_context_stack(5) == 50);
}

static void a_stack_that_could_not_be_taken_is_not_kept(void) {
    ll_context_learn(6, 0);
    CHECK(!ll_context_is_known(6));
}

static void* learn_all(void* unused) {
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        ll_context_learn(context_at(i), i + 1);
    }
    return unused;
}

static void threads_agree(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, learn_all, NULL) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        wrong += ll_context_stack(context_at(i)) != i + 1;
    }
    CHECK(wrong == 0);
}

// A context is asked for when code met it that may not stamp with it by itself.
static void only_one_thread_stamps_in_line(struct ll_loss_page* page) {
    CHECK(page->quick_contexts[0] != 0 && page->quick_contexts[9] == 0);
    (void)ll_context_is_known(9);
    CHECK(page->quick_contexts[9] == 9);
    ll_loss_page_forget_contexts(page);
    page->mode = 1;
    (void)ll_context_is_known(9);
    CHECK(page->quick_contexts[9] == 0 && page->cache[9] == 9);
    page->mode = 0;
}

int main(void) {
    static struct ll_loss_page page;
    CHECK(ll_contexts_start(&page, no_hook));
    CHECK(page.cache != NULL && page.hook == no_hook);
    only_one_thread_stamps_in_line(&page);
    unknown_contexts_have_no_stack();
    a_context_keeps_its_first_stack();
    a_stack_that_could_not_be_taken_is_not_kept();
    threads_agree();
    return failures != 0;
}
