// A child loses what only its variable held; so does the parent after it.
#include "corpus.h"

#include <sys/wait.h>
#include <unistd.h>

CASE char* held_in_child_bad(void) {
    return malloc(150);
}

CASE char* held_in_parent_bad(void) {
    return malloc(250);
}

CASE char* held_by_both_ok(void) {
    return malloc(350);
}

CASE int lose_in_child(void) {
    char* of_child = held_in_child_bad();
    of_child[0] = 'c';
    return of_child[0] == 'c'; // loss(held_in_child_bad): of_child
}

CASE int lose_in_parent(void) {
    char* of_parent = held_in_parent_bad();
    of_parent[0] = 'p';
    return of_parent[0] == 'p'; // loss(held_in_parent_bad): of_parent
}

int main(void) {
    char* volatile both = held_by_both_ok();
    pid_t child = fork();
    if (child == 0) {
        int result = lose_in_child();
        scrub();
        free(both);
        exit(result == 1 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    int result = lose_in_parent();
    scrub();
    free(both);
    return status == 0 && result == 1 ? 0 : 1;
}
