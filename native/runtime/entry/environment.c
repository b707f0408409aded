// The environment by which a watched program's children are watched too.
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "entry/start.h"

static bool begins_with(const char* text, const char* prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_separator(char letter) {
    return letter == ':' || letter == ' ';
}

// Takes one library out of the list in place. True when nothing is left of the list.
static bool leave_list(char* list, const char* library) {
    size_t length = strlen(library);
    for (char* at = strstr(list, library); at != NULL; at = strstr(at + 1, library)) {
        bool starts = at == list || is_separator(at[-1]);
        bool ends = at[length] == '\0' || is_separator(at[length]);
        if (starts && ends) {
            char* rest = at + length + (at[length] != '\0');
            memmove(at, rest, strlen(rest) + 1);
            break;
        }
    }
    return *list == '\0';
}

static void remove_entry(char** entry) {
    for (; *entry != NULL; entry++) {
        entry[0] = entry[1];
    }
}

void ll_environment_leave(char** environment) {
    Dl_info self;
    if (dladdr((void*)ll_environment_leave, &self) == 0) {
        return;
    }
    for (char** entry = environment; *entry != NULL;) {
        if (begins_with(*entry, "LEAKLINE_OPTIONS=") ||
            (begins_with(*entry, "LD_PRELOAD=") &&
             leave_list(*entry + strlen("LD_PRELOAD="), self.dli_fname))) {
            remove_entry(entry);
        } else {
            entry++;
        }
    }
}
