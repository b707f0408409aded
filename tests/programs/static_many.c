// Functions with more ways through them than can be told apart: the checker has to
// join states without losing the leaks, and without inventing any.
#include <stdlib.h>
#include <string.h>

struct settings {
    char* host;
    char* user;
    char* secret;
    char* folder;
    char* proxy;
    char* agent;
};

static void drop_settings(struct settings* s) {
    if (s->host) {
        free(s->host);
    }
    if (s->user) {
        free(s->user);
    }
    if (s->secret) {
        free(s->secret);
    }
    if (s->folder) {
        free(s->folder);
    }
    if (s->proxy) {
        free(s->proxy);
    }
    if (s->agent) {
        free(s->agent);
    }
    free(s);
}

static void drop_settings_but_the_agent(struct settings* s) {
    if (s->host) {
        free(s->host);
    }
    if (s->user) {
        free(s->user);
    }
    if (s->secret) {
        free(s->secret);
    }
    if (s->folder) {
        free(s->folder);
    }
    if (s->proxy) {
        free(s->proxy);
    }
    free(s);
}

int optional_members_freed_ok(const char* agent) {
    struct settings* s = calloc(1, sizeof *s);
    if (!s) {
        return -1;
    }
    s->agent = strdup(agent);
    s->host = strdup("localhost");
    drop_settings(s);
    return 0;
}

int optional_member_forgotten_bad(const char* agent) {
    struct settings* s = calloc(1, sizeof *s);
    if (!s) {
        return -1;
    }
    s->agent = strdup(agent);
    drop_settings_but_the_agent(s);
    return 0;
}

static char* next_part(const char* list, int* index) {
    int start = *index;
    while (list[*index] && list[*index] != ':') {
        ++*index;
    }
    if (*index == start) {
        if (!list[start]) {
            return NULL;
        }
        ++*index;
        return strdup(".");
    }
    return strndup(list + start, *index - start);
}

static char* joined(const char* folder, const char* name) {
    char* path = malloc(strlen(folder) + strlen(name) + 2);
    strcpy(path, folder);
    strcat(path, "/");
    return strcat(path, name);
}

int runnable(const char* path);

char* every_way_on_frees_ok(const char* list, const char* name, int flags) {
    int index = 0;
    char* found = NULL;
    while (list[index]) {
        char* part = next_part(list, &index);
        if (!part) {
            break;
        }
        if (*part == '~') {
            char* home = strdup("/root");
            free(part);
            part = home;
            if (flags & 1) {
                free(part);
                continue;
            }
        }
        if ((flags & 2) && *part != '/') {
            free(part);
            continue;
        }
        char* path = joined(part, name);
        free(part);
        if (*path == '/') {
            found = path;
            break;
        }
        free(path);
    }
    return found;
}

char* one_way_on_forgets_bad(const char* list, const char* name, int flags) {
    int index = 0;
    char* found = NULL;
    while (list[index]) {
        char* part = next_part(list, &index);
        if (!part) {
            break;
        }
        if (*part == '~') {
            char* home = strdup("/root");
            free(part);
            part = home;
            if (flags & 1) {
                free(part);
                continue;
            }
        }
        if ((flags & 2) && *part != '/') {
            continue;
        }
        char* path = joined(part, name);
        free(part);
        if (*path == '/') {
            found = path;
            break;
        }
        free(path);
    }
    return found;
}

struct link {
    char* name;
    int owned;
    struct link* next;
};

static struct link* copied(const struct link* from) {
    struct link* first = NULL;
    struct link* last = NULL;
    for (; from; from = from->next) {
        struct link* one = malloc(sizeof *one);
        memcpy(one, from, sizeof *one);
        if (one->owned) {
            one->name = strdup(one->name);
        }
        one->next = NULL;
        if (!first) {
            first = last = one;
        } else {
            last = last->next = one;
        }
    }
    return first;
}

static void drop_links(struct link* l) {
    while (l) {
        struct link* next = l->next;
        if (l->owned) {
            free(l->name);
        }
        free(l);
        l = next;
    }
}

int copy_dropped_ok(const struct link* from) {
    struct link* copy = copied(from);
    int count = 0;
    for (struct link* l = copy; l; l = l->next) {
        count += l->owned;
    }
    drop_links(copy);
    return count;
}

int copy_forgotten_bad(const struct link* from, int limit) {
    struct link* copy = copied(from);
    int count = 0;
    for (struct link* l = copy; l; l = l->next) {
        count += l->owned;
    }
    if (count > limit) {
        return -1;
    }
    drop_links(copy);
    return count;
}

struct job {
    char** lines;
    char** variables;
    char* command;
};

static void drop_job(struct job* j, int lines) {
    if (j->lines) {
        for (int i = 0; i < lines; ++i) {
            free(j->lines[i]);
        }
        free(j->lines);
    }
    if (j->variables) {
        char** v = j->variables;
        while (*v) {
            free(*v++);
        }
        free(j->variables);
    }
    free(j->command);
    free(j);
}

int arrays_of_arrays_freed_ok(int n) {
    struct job* j = calloc(1, sizeof *j);
    if (!j) {
        return -1;
    }
    j->lines = calloc(n, sizeof *j->lines);
    j->variables = calloc(n + 1, sizeof *j->variables);
    for (int i = 0; i < n; ++i) {
        j->lines[i] = strdup("line");
        j->variables[i] = strdup("A=B");
    }
    drop_job(j, n);
    return 0;
}

int array_owner_forgotten_bad(int n) {
    struct job* j = calloc(1, sizeof *j);
    if (!j) {
        return -1;
    }
    j->command = strdup("true");
    if (n > 3) {
        return -2;
    }
    drop_job(j, 0);
    return 0;
}

struct entry {
    struct entry* next;
    struct entry** previous;
    char* text;
};

struct queue {
    struct entry* first;
    struct entry** last;
};

void unlinked_and_freed_ok(struct queue* q) {
    struct entry* e;
    while ((e = q->first) != NULL) {
        if (e->next != NULL) {
            e->next->previous = e->previous;
        } else {
            q->last = e->previous;
        }
        *e->previous = e->next;
        free(e->text);
        free(e);
    }
}

void freed_but_still_linked_bad(struct queue* q) {
    struct entry* e = q->first;
    if (e == NULL) {
        return;
    }
    free(e->text);
    free(e);
    free(q->first->text);
}

struct tree {
    struct tree* left;
    struct tree* right;
    int key;
};

static struct tree* insert(struct tree** root, struct tree* new) {
    while (*root) {
        if (new->key == (*root)->key) {
            return *root;
        }
        root = new->key < (*root)->key ? &(*root)->left : &(*root)->right;
    }
    *root = new;
    return NULL;
}

void known_to_be_new_ok(struct tree** root, int key) {
    struct tree* new = calloc(1, sizeof *new);
    new->key = key;
    insert(root, new);
}

int perhaps_there_already_bad(struct tree** root, int key) {
    struct tree* new = calloc(1, sizeof *new);
    new->key = key;
    if (insert(root, new) != NULL) {
        return -1;
    }
    return 0;
}

struct chain {
    struct link* first;
    struct link* last;
};

static struct chain* notes;

static int append_note(struct chain** chain, char* name) {
    struct link* one = calloc(1, sizeof *one);
    one->name = name;
    if (!*chain) {
        *chain = calloc(1, sizeof **chain);
        (*chain)->first = (*chain)->last = one;
        return 0;
    }
    (*chain)->last->next = one;
    (*chain)->last = one;
    return 0;
}

int appended_twice_ok(void) {
    int result = append_note(&notes, strdup("one"));
    if (result == 0) {
        result = append_note(&notes, strdup("two"));
    }
    return result;
}
