// Structures, fields, unions, globals, interior pointers, reference counts.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int maybe(void);
void use(const char* text);

struct name {
    char* first;
    char* last;
};

struct person {
    int id;
    struct name name;
    struct person* boss;
};

void field_ok(void) {
    struct name name;
    name.first = strdup("a");
    name.last = strdup("b");
    free(name.first);
    free(name.last);
}

void field_bad(void) {
    struct name name;
    name.first = strdup("a");
    name.last = strdup("b");
    free(name.first);
}

void field_overwritten_bad(void) {
    struct name name;
    name.first = strdup("a");
    name.first = strdup("b");
    free(name.first);
}

void nested_struct_ok(void) {
    struct person person = {0};
    person.name.last = strdup("x");
    free(person.name.last);
}

void nested_struct_bad(void) {
    struct person person = {0};
    person.name.last = strdup("x");
    if (maybe()) {
        return;
    }
    free(person.name.last);
}

static void destroy(struct person* person) {
    free(person->name.first);
    free(person->name.last);
    free(person);
}

static struct person* create(const char* first, const char* last) {
    struct person* person = calloc(1, sizeof *person);
    person->name.first = strdup(first);
    person->name.last = strdup(last);
    return person;
}

void created_and_destroyed_ok(void) {
    struct person* person = create("a", "b");
    destroy(person);
}

void created_and_freed_shallowly_bad(void) {
    struct person* person = create("a", "b");
    free(person);
}

static void destroy_forgets_last(struct person* person) {
    free(person->name.first);
    free(person);
}

void destructor_forgets_field_bad(void) {
    struct person* person = create("a", "b");
    destroy_forgets_last(person);
}

void optional_field_ok(int wanted) {
    struct name name = {NULL, NULL};
    if (wanted) {
        name.first = strdup("a");
    }
    if (name.first != NULL) {
        free(name.first);
    }
}

void struct_copy_ok(void) {
    struct name name = {strdup("a"), NULL};
    struct name copy = name;
    free(copy.first);
}

void struct_copy_bad(void) {
    struct name name = {strdup("a"), NULL};
    struct name copy = name;
    use(copy.last);
}

void linked_objects_ok(void) {
    struct person* boss = calloc(1, sizeof *boss);
    struct person* worker = calloc(1, sizeof *worker);
    worker->boss = boss;
    free(worker->boss);
    free(worker);
}

void linked_objects_bad(void) {
    struct person* boss = calloc(1, sizeof *boss);
    struct person* worker = calloc(1, sizeof *worker);
    worker->boss = boss;
    free(worker);
}

static char* cache;

void global_cache_ok(void) {
    if (cache == NULL) {
        cache = malloc(64);
    }
}

void global_replaced_ok(void) {
    free(cache);
    cache = malloc(64);
}

void global_overwritten_bad(void) {
    cache = malloc(64);
    cache = malloc(32);
}

static void set_cache(void) {
    cache = strdup("x");
}

void global_set_twice_bad(void) {
    set_cache();
    set_cache();
}

static struct person* registry;

void registered_ok(void) {
    struct person* person = calloc(1, sizeof *person);
    person->boss = registry;
    registry = person;
}

void attached_to_argument_ok(struct person* person) {
    person->name.first = strdup("a");
}

void attached_deeply_ok(struct person* person) {
    person->boss->boss->name.last = strdup("a");
}

static int attach(struct person* person, char* name) {
    if (person->id < 0) {
        return -1;
    }
    person->name.first = name;
    return 0;
}

void stores_argument_ok(struct person* person) {
    char* name = strdup("a");
    if (attach(person, name) < 0) {
        free(name);
    }
}

void stores_argument_bad(struct person* person) {
    char* name = strdup("a");
    if (attach(person, name) < 0) {
        return;
    }
}

union holder {
    char* text;
    long number;
};

void union_ok(void) {
    union holder holder;
    holder.text = malloc(8);
    free(holder.text);
}

void union_bad(void) {
    union holder holder;
    holder.text = malloc(8);
    if (maybe()) {
        return;
    }
    free(holder.text);
}

void union_overwritten_bad(void) {
    union holder holder;
    holder.text = malloc(8);
    holder.number = 5;
    use(holder.number == 5 ? "a" : "b");
}

struct embedded {
    int id;
    struct name inner;
};

#define container_of(pointer, type, member)                                            \
    ((type*)((char*)(pointer) - offsetof(type, member)))

static void free_by_inner(struct name* inner) {
    free(container_of(inner, struct embedded, inner));
}

void interior_pointer_ok(void) {
    struct embedded* object = malloc(sizeof *object);
    free_by_inner(&object->inner);
}

void interior_pointer_kept_ok(struct name** slot) {
    struct embedded* object = malloc(sizeof *object);
    *slot = &object->inner;
}

void interior_pointer_bad(void) {
    struct embedded* object = malloc(sizeof *object);
    struct name* inner = &object->inner;
    inner->first = NULL;
}

struct counted {
    int references;
    char* data;
};

static struct counted* counted_new(void) {
    struct counted* object = malloc(sizeof *object);
    object->references = 1;
    object->data = NULL;
    return object;
}

static void counted_ref(struct counted* object) {
    object->references++;
}

static void counted_unref(struct counted* object) {
    if (--object->references == 0) {
        free(object);
    }
}

void reference_count_ok(void) {
    struct counted* object = counted_new();
    counted_unref(object);
}

void reference_count_twice_ok(void) {
    struct counted* object = counted_new();
    counted_ref(object);
    counted_unref(object);
    counted_unref(object);
}

void reference_count_unknown_ok(struct counted* object) {
    counted_ref(object);
    counted_unref(object);
}

void reference_count_bad(void) {
    struct counted* object = counted_new();
    if (maybe()) {
        return;
    }
    counted_unref(object);
}

struct buffer {
    char* data;
    size_t used, size;
};

static void buffer_add(struct buffer* buffer, char byte) {
    if (buffer->used == buffer->size) {
        buffer->size = buffer->size ? buffer->size * 2 : 16;
        buffer->data = realloc(buffer->data, buffer->size);
    }
    buffer->data[buffer->used++] = byte;
}

void growing_buffer_ok(void) {
    struct buffer buffer = {NULL, 0, 0};
    buffer_add(&buffer, 'a');
    buffer_add(&buffer, 'b');
    free(buffer.data);
}

void growing_buffer_bad(void) {
    struct buffer buffer = {NULL, 0, 0};
    buffer_add(&buffer, 'a');
    if (maybe()) {
        return;
    }
    free(buffer.data);
}

struct stack {
    void* items[8];
    int count;
};

static void push(struct stack* stack, void* item) {
    stack->items[stack->count++] = item;
}

void pushed_on_argument_ok(struct stack* stack) {
    push(stack, malloc(8));
}

struct name returned_by_value_ok(void) {
    struct name name = {strdup("a"), strdup("b")};
    return name;
}

struct paste {
    char* data;
    struct paste* left;
    int key;
};

static struct paste* all_pastes;

static struct paste* insert_paste(struct paste* new) {
    struct paste** place = &all_pastes;
    while (*place) {
        if ((*place)->key == new->key) {
            return *place;
        }
        place = &(*place)->left;
    }
    *place = new;
    return NULL;
}

static int add_paste(char* data, int key) {
    struct paste* new = calloc(1, sizeof *new);
    new->data = data;
    new->key = key;
    insert_paste(new);
    return 0;
}

int kept_inside_a_kept_object_ok(const char* text, int key) {
    char* copy = strdup(text);
    if (add_paste(copy, key) != 0) {
        free(copy);
        return -1;
    }
    return 0;
}

struct pane {
    char* event;
    int fd;
};

static int is_ready(const struct pane* p) {
    if (p->fd != -1) {
        return p->event[0] == 0;
    }
    return 1;
}

int asked_only_while_open_ok(struct pane* p) {
    free(p->event);
    p->fd = -1;
    return is_ready(p);
}

int asked_although_freed_bad(struct pane* p) {
    free(p->event);
    p->fd = 3;
    return is_ready(p);
}

static int describe(int number, char** cause) {
    if (number < 0) {
        return asprintf(cause, "bad number %d", number);
    }
    return 0;
}

void written_through_null_ok(int number) {
    describe(number, NULL);
}

int length_of(const char* event);

static int is_drained(const struct pane* p, int flags) {
    if (p->fd != -1 && length_of(p->event) != 0) {
        return 0;
    }
    return flags & 1 ? 1 : 0;
}

int looked_at_only_while_open_ok(struct pane* p, int flags) {
    free(p->event);
    p->fd = -1;
    return is_drained(p, flags);
}

struct digest {
    void* inner;
    void* outer;
};

static struct digest* new_digest(int inner_bytes) {
    struct digest* d = malloc(sizeof *d + 2 * (size_t)inner_bytes);
    d->inner = d + 1;
    d->outer = (char*)d->inner + inner_bytes;
    *(char**)d->inner = malloc(8);
    *(char**)d->outer = malloc(8);
    return d;
}

static void end_context(void* context) {
    free(*(char**)context);
}

void contexts_behind_one_object_ok(int inner_bytes) {
    struct digest* d = new_digest(inner_bytes);
    end_context(d->inner);
    end_context(d->outer);
    free(d);
}

struct text {
    int owners;
    char* letters;
};

struct value {
    int kind;
    struct text* text;
};

static void assign(struct value* to, const struct value* from, int how) {
    switch (how) {
    case 1:
        to->kind = 0;
        break;
    case 2:
        to->kind = from->kind;
        break;
    default:
        to->kind = from->kind;
        to->text = from->text;
        to->text->owners++;
        break;
    }
}

static void drop(struct value* v) {
    if (v->kind > 0 && --v->text->owners == 0) {
        free(v->text);
    }
}

void assigned_and_dropped_ok(struct value* to) {
    struct value v = {1, malloc(sizeof(struct text))};
    v.text->owners = 1;
    assign(to, &v, 3);
    drop(&v);
}
