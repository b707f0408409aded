// Options are read by the table, mistakes are counted, and what differs is told.
#include <string.h>

#include "base/options.h"
#include "check.h"

static char changed[16][8192];
static int changed_count;

static void note_changed(const char* text) {
    strcpy(changed[changed_count++], text);
}

static void defaults_stand_when_nothing_is_said(void) {
    CHECK(ll_options_parse("") == 0);
    CHECK(strcmp(ll_options.recording, "") == 0);
    CHECK(strcmp(ll_options.lens, "reach") == 0);
    CHECK(ll_options.depth == 64);
    CHECK(ll_options.children);
    ll_options_visit_changed(note_changed);
    CHECK(changed_count == 0);
}

static void values_of_each_type_are_taken(void) {
    CHECK(ll_options_parse("recording=/tmp/a\\:b\\\\c:depth=12:children=0:") == 0);
    CHECK(strcmp(ll_options.recording, "/tmp/a:b\\c") == 0);
    CHECK(ll_options.depth == 12);
    CHECK(!ll_options.children);
}

static void changed_options_are_told(void) {
    changed_count = 0;
    ll_options_visit_changed(note_changed);
    CHECK(changed_count == 3);
    CHECK(strcmp(changed[0], "recording=/tmp/a:b\\c") == 0);
    CHECK(strcmp(changed[1], "depth=12") == 0);
    CHECK(strcmp(changed[2], "children=0") == 0);
}

static void mistakes_are_counted_and_change_nothing(void) {
    CHECK(ll_options_parse("nonsense=1") == 1);
    CHECK(ll_options_parse("depth=") == 1);
    CHECK(ll_options_parse("depth=-1") == 1);
    CHECK(ll_options_parse("depth=12x") == 1);
    CHECK(ll_options_parse("depth=99999999999999999999") == 1);
    CHECK(ll_options_parse("children=2") == 1);
    CHECK(ll_options_parse("depth") == 1);
    CHECK(ll_options_parse("=3") == 1);
    CHECK(ll_options_parse("depth=13:bad=1:depth=14") == 1);
    CHECK(ll_options.depth == 14);
    CHECK(!ll_options.children);
}

static void text_that_is_too_long_is_left_out(void) {
    static char text[LL_TEXT_OPTION_MAX + 64];
    strcpy(text, "recording=");
    memset(text + 10, 'x', LL_TEXT_OPTION_MAX);
    CHECK(ll_options_parse(text) == 1);
    CHECK(strcmp(ll_options.recording, "/tmp/a:b\\c") == 0);
    text[10 + LL_TEXT_OPTION_MAX - 1] = '\0';
    CHECK(ll_options_parse(text) == 0);
    CHECK(strlen(ll_options.recording) == LL_TEXT_OPTION_MAX - 1);
}

// Told again and again, an option keeps the last value there was room for.
static void text_beyond_all_room_is_left_out(void) {
    static char text[LL_TEXT_OPTION_MAX + 64];
    strcpy(text, "plans=");
    memset(text + 6, 'p', LL_TEXT_OPTION_MAX - 1);
    unsigned mistakes = 0;
    for (int i = 0; i < 100; i++) {
        mistakes += ll_options_parse(text);
    }
    CHECK(0 < mistakes && mistakes < 100);
    CHECK(strlen(ll_options.plans) == LL_TEXT_OPTION_MAX - 1);
    CHECK(ll_options_parse("depth=15") == 0 && ll_options.depth == 15);
}

static void lenses_are_whole_words_of_the_list(void) {
    CHECK(ll_options_have_lens("reach"));
    CHECK(ll_options_parse("lens=reach,losses,accesses") == 0);
    CHECK(ll_options_have_lens("reach") && ll_options_have_lens("accesses"));
    CHECK(!ll_options_have_lens("loss") && !ll_options_have_lens("access"));
    CHECK(ll_options_parse("lens=loss") == 0);
    CHECK(ll_options_have_lens("loss") && !ll_options_have_lens("reach"));
    CHECK(ll_options_parse("lens=") == 0);
    CHECK(!ll_options_have_lens("loss"));
}

int main(void) {
    defaults_stand_when_nothing_is_said();
    values_of_each_type_are_taken();
    changed_options_are_told();
    mistakes_are_counted_and_change_nothing();
    text_that_is_too_long_is_left_out();
    lenses_are_whole_words_of_the_list();
    text_beyond_all_room_is_left_out();
    return failures != 0;
}
