// Reads LEAKLINE_OPTIONS by the table in format/options.def. Runs before libc is set
// up, so it uses no library function.
#include "base/options.h"

#include <stddef.h>

#include "base/attributes.h"
#include "base/text.h"

enum option_type { OPTION_TEXT, OPTION_NUMBER, OPTION_SWITCH };

// One row of the table as the parser and the printer see it.
struct option {
    const char* name;
    enum option_type type;
    void* value;
    const char* initial_text;
    uint64_t initial_number;
};

#define TEXT_INITIAL(initial) initial
#define NUMBER_INITIAL(initial) initial
#define SWITCH_INITIAL(initial) initial

struct ll_options ll_options = {
#define OPTION(type, name, initial, help) .name = type##_INITIAL(initial),
#include "format/options.def"
#undef OPTION
};

#define TEXT_ROW(name, initial) #name, OPTION_TEXT, &ll_options.name, initial, 0
#define NUMBER_ROW(name, initial) #name, OPTION_NUMBER, &ll_options.name, "", initial
#define SWITCH_ROW(name, initial) #name, OPTION_SWITCH, &ll_options.name, "", initial

static const struct option table[] = {
#define OPTION(type, name, initial, help) {type##_ROW(name, initial)},
#include "format/options.def"
#undef OPTION
};

enum {
    TABLE_LENGTH = sizeof table / sizeof *table,
    LINE_MAX = LL_TEXT_OPTION_MAX + 64,
    TEXTS_MAX = 16 * LL_TEXT_OPTION_MAX,
};

// The values of text options, one behind the other: they are mostly short. The value
// that is being read lies behind them.
static LL_BULK char texts[TEXTS_MAX];
static size_t texts_used;

static bool same_text(const char* a, const char* b) {
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

// Copies up to the next unescaped `end` (or ':'), without the escapes. Returns where it
// stopped; `fits` becomes false when `room` bytes are too few, and the part is empty.
static const char* take_part(const char* text, char end, char* part, size_t room,
                             bool* fits) {
    size_t length = 0;
    while (*text != '\0' && *text != end && *text != ':') {
        if (*text == '\\' && text[1] != '\0') {
            text++;
        }
        if (length + 1 < room) {
            part[length] = *text;
        }
        length++;
        text++;
    }
    *fits = length < room;
    part[*fits ? length : 0] = '\0';
    return text;
}

static bool parse_number(const char* text, uint64_t* number) {
    uint64_t result = 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (digit > 9 || __builtin_mul_overflow(result, 10, &result) ||
            __builtin_add_overflow(result, digit, &result)) {
            return false;
        }
    }
    *number = result;
    return true;
}

static size_t texts_room(void) {
    size_t room = TEXTS_MAX - texts_used;
    return room < LL_TEXT_OPTION_MAX ? room : LL_TEXT_OPTION_MAX;
}

// Keeps the value that was read last. Room for an empty one always stays.
static bool keep_text(const char** option) {
    size_t end = texts_used;
    while (texts[end++] != '\0') {
    }
    if (end == TEXTS_MAX) {
        return false;
    }
    *option = &texts[texts_used];
    texts_used = end;
    return true;
}

static bool set_option(const struct option* option, const char* value) {
    uint64_t number;
    if (option->type == OPTION_TEXT) {
        return keep_text(option->value);
    }
    if (!parse_number(value, &number)) {
        return false;
    }
    if (option->type == OPTION_NUMBER) {
        *(uint64_t*)option->value = number;
        return true;
    }
    if (number > 1) {
        return false;
    }
    *(bool*)option->value = number == 1;
    return true;
}

static bool set_by_name(const char* name, const char* value) {
    for (size_t i = 0; i < TABLE_LENGTH; i++) {
        if (same_text(name, table[i].name)) {
            return set_option(&table[i], value);
        }
    }
    return false;
}

unsigned ll_options_parse(const char* text) {
    enum { NAME_MAX = 64 };
    char name[NAME_MAX];
    unsigned mistakes = 0;
    while (*text != '\0') {
        bool name_fits;
        bool value_fits = true;
        char* value = &texts[texts_used];
        text = take_part(text, '=', name, sizeof name, &name_fits);
        value[0] = '\0';
        if (*text == '=') {
            text = take_part(text + 1, ':', value, texts_room(), &value_fits);
        }
        if (*text == ':') {
            text++;
        }
        if (name[0] == '\0' && value[0] == '\0' && name_fits && value_fits) {
            continue;
        }
        mistakes += !(name_fits && value_fits && set_by_name(name, value));
    }
    return mistakes;
}

static uint64_t number_of(const struct option* option) {
    return option->type == OPTION_SWITCH ? *(bool*)option->value
                                         : *(uint64_t*)option->value;
}

static const char* text_of(const struct option* option) {
    return *(const char**)option->value;
}

static bool is_changed(const struct option* option) {
    if (option->type == OPTION_TEXT) {
        return !same_text(text_of(option), option->initial_text);
    }
    return number_of(option) != option->initial_number;
}

void ll_options_visit_changed(void (*visit)(const char* text)) {
    static LL_BULK char line[LINE_MAX];
    for (size_t i = 0; i < TABLE_LENGTH; i++) {
        if (!is_changed(&table[i])) {
            continue;
        }
        char* end = ll_append_text(ll_append_text(line, table[i].name), "=");
        if (table[i].type == OPTION_TEXT) {
            ll_append_text(end, text_of(&table[i]));
        } else {
            ll_append_number(end, number_of(&table[i]));
        }
        visit(line);
    }
}

bool ll_options_have_lens(const char* name) {
    const char* at = ll_options.lens;
    while (*at != '\0') {
        const char* expected = name;
        while (*at != '\0' && *at == *expected) {
            at++;
            expected++;
        }
        if (*expected == '\0' && (*at == '\0' || *at == ',')) {
            return true;
        }
        while (*at != '\0' && *at != ',') {
            at++;
        }
        at += *at == ',';
    }
    return false;
}
