// Uses the records of the other unit, rightly and wrongly.
#include "store.h"

#include <stdlib.h>
#include <string.h>

static void drop(struct record* r) {
    free(r);
}

void freed_by_other_unit_ok(const char* name) {
    struct record* r = record_new(name);
    record_free(r);
}

void kept_by_other_unit_ok(const char* name) {
    store_keep(record_new(name));
}

void made_by_other_unit_bad(const char* name) {
    struct record* r = record_new(name);
    r->next = NULL;
}

void own_function_of_that_name_bad(const char* name) {
    drop(record_new(name));
}

int loaded_by_other_unit_ok(const char* text) {
    struct record* r;
    if (record_load(text, &r) < 0) {
        return -1;
    }
    record_free(r);
    return 0;
}

int loaded_by_other_unit_bad(const char* text) {
    struct record* r;
    if (record_load(text, &r) < 0) {
        return -1;
    }
    if (r->name[0] == '!') {
        return -2;
    }
    record_free(r);
    return 0;
}

void global_of_other_unit_decides_ok(const struct record* r) {
    char* label = label_of(r);
    if (store_limit > 0) {
        free(label);
    }
}

void global_of_other_unit_decides_bad(const struct record* r) {
    char* label = label_of(r);
    if (store_limit > 10) {
        free(label);
    }
}
