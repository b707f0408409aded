// Blocks that only variables held. A comment `loss(NAME): CAUSE FUNCTION VARIABLE`
// marks the line that loses what the function NAME allocated; `-` is no variable. The
// line that gives it to that variable has the comment `birth(NAME)`.
#include <stdio.h>

#include "corpus.h"

struct pair {
    char* first;
    char* second;
};

CASE char* early_return_bad(size_t size) {
    return malloc(size);
}

CASE int parse(const char* text) {
    char* buffer = early_return_bad(200); // birth(early_return_bad)
    if (buffer == NULL) {
        return -1;
    }
    strcpy(buffer, text);
    if (text[0] == '!') {
        return 1; // loss(early_return_bad): out-of-scope parse buffer
    }
    free(buffer);
    return 0;
}

CASE char* ignored_bad(void) {
    return malloc(201);
}

CASE void warm_up(void) {
    (void)ignored_bad(); // loss(ignored_bad): never-stored warm_up -
}

CASE char* duplicated_bad(const char* text) {
    return strdup(text);
}

CASE char* label_of(const char* text) {
    char* copy = duplicated_bad(text);
    copy[0] = 'x';
    return copy;
}

CASE size_t measure(const char* text) {
    char* label = label_of(text); // birth(duplicated_bad)
    size_t length = strlen(label);
    return length; // loss(duplicated_bad): out-of-scope measure label
}

CASE char* by_argument_bad(void) {
    return malloc(203);
}

CASE int make(char** result) {
    *result = by_argument_bad(); // birth(by_argument_bad)
    return *result != NULL;
}

CASE int use_argument(void) {
    char* made = NULL;
    if (!make(&made)) {
        return 0;
    }
    made[0] = 'a';
    return made[0]; // loss(by_argument_bad): out-of-scope use_argument made
}

CASE char* in_pair_bad(void) {
    return malloc(204);
}

CASE int use_pair(void) {
    struct pair pair = {NULL, in_pair_bad()}; // birth(in_pair_bad)
    KEEP(&pair);
    return pair.second != NULL; // loss(in_pair_bad): out-of-scope use_pair pair.second
}

CASE char* in_owner_bad(void) {
    return malloc(208);
}

struct text {
    size_t length;
    char* bytes;
};

struct book {
    struct pair names;
    struct text body;
};

CASE void grow(int step, struct text* text) {
    text->bytes = in_owner_bad(); // birth(in_owner_bad)
    text->length += (size_t)step;
}

CASE size_t fill(struct book* book) {
    struct text* body = &book->body;
    grow(1, body);
    return body->length;
}

CASE int use_book(void) {
    struct book book = {{NULL, NULL}, {0, NULL}};
    size_t length = fill(&book);
    KEEP(&book);
    return length == 1; // loss(in_owner_bad): out-of-scope use_book book.body.bytes
}

// Whoever asks for nothing gets one byte.
CASE char* wrapped_bad(size_t size) {
    char* block = malloc(size);
    if (block == NULL && size == 0) {
        block = malloc(1);
    }
    if (block == NULL) {
        abort();
    }
    return block;
}

CASE int use_wrapper(size_t size) {
    char* mine = wrapped_bad(size); // birth(wrapped_bad)
    mine[0] = 'a';
    return mine[0]; // loss(wrapped_bad): out-of-scope use_wrapper mine
}

CASE char* error_path_bad(int size) {
    char* block = malloc((size_t)size); // birth(error_path_bad)
    KEEP(block);
    if (size == 205) {
        return NULL; // loss(error_path_bad): out-of-scope error_path_bad block
    }
    return block;
}

CASE void use_error_path(int size) {
    char* mine = error_path_bad(size);
    KEEP(mine);
    free(mine);
}

CASE void loop_bad(int count) {
    char* last = NULL;
    for (int i = 0; i < count; i++) {
        last = malloc(206); // birth(loop_bad)
        KEEP(last);
    }
    KEEP(last);
} // loss(loop_bad): out-of-scope loop_bad last

CASE char* reused_bad(void) {
    return malloc(207);
}

CASE int drop(void) {
    char* mine = reused_bad(); // birth(reused_bad)
    mine[0] = 'a';
    return mine[0]; // loss(reused_bad): out-of-scope drop mine
}

// The variable still holds the address of a block that was freed; in all likelihood the
// next one gets it.
CASE int free_and_drop(void) {
    char* volatile old = malloc(207);
    free(old);
    return drop();
}

int main(void) {
    int sum = parse("!text");
    warm_up();
    sum += (int)measure("a label");
    sum += use_argument();
    sum += use_pair();
    sum += use_book();
    sum += use_wrapper(209);
    use_error_path(205);
    use_error_path(100);
    loop_bad(3);
    sum += free_and_drop();
    scrub();
    printf("%d\n", sum);
    return 0;
}
