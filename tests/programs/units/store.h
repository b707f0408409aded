// What the units of one program share.
#pragma once

struct record {
    char* name;
    struct record* next;
};

struct record* record_new(const char* name);
void record_free(struct record* r);
int record_load(const char* text, struct record** result);
void store_keep(struct record* r);
char* label_of(const struct record* r);
extern int store_limit;
