#include "os/maps.h"

#include <fcntl.h>
#include <string.h>

#include "os/file.h"
#include "os/memory.h"

// A line holds at most a path of 4 KiB, escaped by the kernel, and its numbers.
enum { BUFFER_SIZE = 32768 };

// Part of the list that has been read but not yet visited.
struct window {
    int file;
    char* text;
    size_t length;
    size_t line; // where the next line starts
};

static char* next_line(struct window* window);
static bool parse(char* line, struct ll_mapping* mapping);

bool ll_maps_visit(ll_maps_visitor* visit, void* context) {
    struct window window = {.file = ll_file_open("/proc/self/maps", O_RDONLY)};
    if (window.file < 0) {
        return false;
    }
    // From the system and not from the stack: callers may run on a small one.
    window.text = ll_memory_map(BUFFER_SIZE);
    bool any = false;
    char* line;
    struct ll_mapping mapping;
    while (window.text != NULL && (line = next_line(&window)) != NULL) {
        if (!parse(line, &mapping)) {
            continue;
        }
        any = true;
        if (!visit(&mapping, context)) {
            break;
        }
    }
    if (window.text != NULL) {
        ll_memory_unmap(window.text, BUFFER_SIZE);
    }
    ll_file_close(window.file);
    return any;
}

// Moves what is left to the front and reads on. False at the end of the list.
static bool refill(struct window* window) {
    window->length -= window->line;
    memmove(window->text, window->text + window->line, window->length);
    window->line = 0;
    size_t room = BUFFER_SIZE - window->length;
    long got = ll_file_read(window->file, window->text + window->length, room);
    if (got <= 0) {
        return false;
    }
    window->length += (size_t)got;
    return true;
}

static char* next_line(struct window* window) {
    for (;;) {
        char* start = window->text + window->line;
        char* end = memchr(start, '\n', window->length - window->line);
        if (end != NULL) {
            *end = '\0';
            window->line = (size_t)(end - window->text) + 1;
            return start;
        }
        if (!refill(window)) {
            return NULL;
        }
    }
}

static uint64_t number(char** text, unsigned base) {
    uint64_t value = 0;
    for (;; (*text)++) {
        char c = **text;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : base;
        if (digit >= base) {
            return value;
        }
        value = value * base + digit;
    }
}

static bool take(char** text, char wanted) {
    if (**text != wanted) {
        return false;
    }
    (*text)++;
    return true;
}

// start-end rwxp offset major:minor inode      name
static bool parse(char* line, struct ll_mapping* mapping) {
    char* at = line;
    mapping->start = number(&at, 16);
    if (!take(&at, '-')) {
        return false;
    }
    mapping->end = number(&at, 16);
    if (!take(&at, ' ') || strlen(at) < 5) {
        return false;
    }
    mapping->readable = at[0] == 'r';
    mapping->writable = at[1] == 'w';
    mapping->executable = at[2] == 'x';
    mapping->shared = at[3] == 's';
    at += 5;
    mapping->offset = number(&at, 16);
    take(&at, ' ');
    number(&at, 16);
    take(&at, ':');
    number(&at, 16);
    take(&at, ' ');
    mapping->inode = number(&at, 10);
    while (take(&at, ' ')) {
    }
    mapping->name = at;
    return true;
}
