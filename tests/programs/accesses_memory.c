// Tells its mappings when much code has run: before and after a look, or after a second
// of work.
#include <fcntl.h>
#include <leakline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char text[1 << 20];
static size_t filled;

static void tell_mappings(void) {
    int file = open("/proc/self/smaps", O_RDONLY);
    ssize_t got;
    while ((got = read(file, text + filled, sizeof text - filled)) > 0) {
        filled += (size_t)got;
    }
    close(file);
    text[filled++] = '#';
}

static int compare(const void* a, const void* b) {
    return strcmp(*(char* const*)a, *(char* const*)b);
}

// Too seldom for its bursts to end soon.
static void run_much_code(void) {
    enum { WORDS = 2 };
    char* words[WORDS];
    time_t now = 0;
    for (int i = 0; i < WORDS; i++) {
        words[i] = malloc(64);
        snprintf(words[i], 64, "%d %g %s", i, i / 7.0, "word");
        strftime(words[i] + 32, 32, "%A %B %c", gmtime(&now));
    }
    qsort(words, WORDS, sizeof *words, compare);
    for (int i = 0; i < WORDS; i++) {
        free(words[i]);
    }
}

static void look(void) {
    // What runs for the first time makes room for itself; so all has run before.
    for (int i = 0; i < 2; i++) {
        run_much_code();
        leakline_mark();
        filled = 0;
        tell_mappings();
    }
    run_much_code();
    filled = 0;
    tell_mappings();
    leakline_mark();
    tell_mappings();
}

static void work(void) {
    run_much_code();
    tell_mappings();
    filled = 0;
    while (clock() < CLOCKS_PER_SEC) {
        free(calloc(1, 100));
    }
    tell_mappings();
}

int main(int count, char** words) {
    if (count > 1 && strcmp(words[1], "work") == 0) {
        work();
    } else {
        look();
    }
    return write(1, text, filled) == (ssize_t)filled ? 0 : 1;
}
