// Globals that callees change, and that their callers never name themselves.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    int mark;
    struct buffer* next;
};

static struct buffer* current;
static int closed;

static int close_current(int how) {
    struct buffer* old = current;
    if (how == 0) {
        return 0;
    }
    if (how < 0) {
        closed++;
        return -1;
    }
    current = old->next;
    free(old);
    return how == 7 ? 2 : 1;
}

static int mark_of_current(void) {
    return current->mark;
}

int replaced_in_a_callee_ok(int how) {
    close_current(how);
    return mark_of_current();
}

void (*on_close)(void);

static void close_and_tell(int how) {
    struct buffer* old = current;
    if (how > 0) {
        on_close();
        current = old->next;
        free(old);
        on_close();
    }
}

int replaced_around_unknown_code_ok(int how) {
    close_and_tell(how);
    return mark_of_current();
}

static int drop_current(int how) {
    if (how == 0) {
        return 0;
    }
    if (how < 0) {
        closed++;
        return -1;
    }
    free(current);
    return how == 7 ? 2 : 1;
}

int dropped_in_a_callee_bad(int how) {
    if (drop_current(how) < 1) {
        return 0;
    }
    return current->mark;
}

// A cache that only one function names, and whose texts it gives away.
struct entry {
    char* name;
    char* text;
    struct entry* next;
};

static int invents_texts;

static char* cached_text(const char* name) {
    static struct entry* entries;
    if (!invents_texts) {
        return getenv(name);
    }
    for (struct entry* each = entries; each != NULL; each = each->next) {
        if (strcmp(each->name, name) == 0) {
            return each->text;
        }
    }
    struct entry* entry = malloc(sizeof *entry);
    entry->name = strdup(name);
    entry->text = malloc(strlen(name) + 3);
    entry->next = entries;
    entries = entry;
    return entry->text;
}

int text_is_in_the_cache_ok(const char* name) {
    const char* text = cached_text(name);
    return text != NULL && *text != '0';
}

static char* uncached_text(const char* name, int size_bytes) {
    static int calls;
    if (size_bytes == 0) {
        return NULL;
    }
    calls++;
    return size_bytes > 9 ? strdup(name) : malloc(size_bytes);
}

int text_is_not_in_the_cache_bad(const char* name) {
    const char* text = uncached_text(name, 3);
    return text != NULL && *text != '0';
}

// Decided after the callee set it, not by what it was before.
static int mode;

static int choose_mode(int how) {
    if (how == 0) {
        return 0;
    }
    if (how < 0) {
        closed++;
        return -1;
    }
    mode = how & 1;
    return how == 7 ? 2 : 1;
}

static void drop_in_mode(char* text) {
    if (mode) {
        free(text);
    }
}

void mode_set_in_a_callee_bad(int how) {
    char* text = malloc(8);
    choose_mode(how);
    drop_in_mode(text);
}

// A log that goes to one or two streams; which ones, four globals say together.
static FILE *first_log, *second_log;
static int silent, remembers;

static FILE* first_stream(void) {
    if (silent) {
        return NULL;
    }
    return first_log ? first_log : stderr;
}

static FILE* second_stream(void) {
    if (silent) {
        return NULL;
    }
    if (second_log) {
        return second_log;
    }
    return first_log ? NULL : stderr;
}

struct attempt {
    char* text;
    int size_bytes;
};

static int try_to_log(struct attempt* attempt, const char* format, int number) {
    char small[16];
    FILE* first = first_stream();
    FILE* second = second_stream();
    if (first == NULL) {
        return 0;
    }
    if (!remembers && second == NULL) {
        fprintf(first, format, number);
        return 1;
    }
    char* text = attempt->size_bytes ? attempt->text : small;
    int space = attempt->size_bytes ? attempt->size_bytes : (int)sizeof small;
    int length = snprintf(text, space, format, number);
    if (length >= space) {
        attempt->text = realloc(attempt->text, length + 1);
        attempt->size_bytes = length + 1;
        return 0;
    }
    fputs(text, first);
    if (second != NULL && second != first) {
        fputs(text, second);
    }
    free(attempt->text);
    attempt->text = NULL;
    return 1;
}

void tried_until_it_fits_ok(const char* format, int number) {
    struct attempt attempt = {NULL, 0};
    if (silent) {
        return;
    }
    while (!try_to_log(&attempt, format, number)) {
    }
}

void tried_once_bad(const char* format, int number) {
    struct attempt attempt = {NULL, 0};
    if (!silent) {
        try_to_log(&attempt, format, number);
    }
}

void choose_streams(FILE* first, FILE* second, int options) {
    first_log = first;
    second_log = second;
    silent = options & 1;
    remembers = options & 2;
}

void run_anything(void);

static char* fresh_memory = "fresh";

static char* resized(char* old, size_t bytes) {
    return old == fresh_memory ? malloc(bytes) : realloc(old, bytes);
}

void mark_that_nobody_changes_ok(size_t n) {
    char* block = resized(fresh_memory, n);
    run_anything();
    block = resized(block, 2 * n);
    free(block);
}

static int is_quiet;
static int level;

void set_quiet(int quiet) {
    is_quiet = quiet;
}

void kept_quiet_bad(void) {
    char* text = malloc(8);
    if (is_quiet) {
        return;
    }
    free(text);
}

void read_level(FILE* file) {
    fscanf(file, "%d", &level);
}

void high_level_bad(void) {
    char* text = malloc(8);
    if (level > 3) {
        return;
    }
    free(text);
}

static int with_history;

void no_history_ok(void) {
    char* text = malloc(8);
    if (with_history) {
        return;
    }
    free(text);
}

static char* volatile shown;

static void hide_and_show(void) {
    char* hidden = shown;
    shown = NULL;
    shown = hidden;
}

void moved_between_volatile_places_ok(void) {
    shown = malloc(8);
    hide_and_show();
}
