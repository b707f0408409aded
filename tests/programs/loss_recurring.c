// Leaks every third request that it serves, for as long as nobody looks for the leak;
// then some more. The argument begins the name of the file that tells so; the rest is a
// dot and the number of this process.
#include <stdio.h>
#include <unistd.h>

#include "corpus.h"

enum { MORE = 20000 };

CASE char* request_bad(void) {
    return malloc(100);
}

CASE int serve(int number) {
    char* buffer = request_bad();
    strcpy(buffer, "request");
    if (number % 3 == 0) {
        return 1; // loss(request_bad): out-of-scope serve buffer
    }
    free(buffer);
    return 0;
}

struct answer {
    char* text;
};

CASE char* answer_bad(void) {
    return malloc(101);
}

CASE struct answer* new_answer(void) {
    struct answer* answer = malloc(sizeof *answer);
    answer->text = answer_bad();
    return answer;
}

// The text is lost neither with the answer nor by a store.
CASE int send(int number) {
    struct answer* answer = new_answer();
    char* text = answer->text;
    free(answer);
    strcpy(text, "answer");
    if (number % 3 == 0) {
        return 1; // loss(answer_bad): out-of-scope send text
    }
    free(text);
    return 0;
}

int main(int argc, char** argv) {
    char name[4096];
    int left = MORE;
    int failed = 0;
    snprintf(name, sizeof name, "%s.%d", argv[argc - 1], (int)getpid());
    for (int number = 0; left > 0; number++) {
        failed += serve(number);
        failed += send(number);
        if (left < MORE || access(name, F_OK) == 0) {
            left--;
        } else {
            usleep(1000);
        }
    }
    scrub();
    return failed == 0;
}
