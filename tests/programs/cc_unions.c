// References in unions that a member of another type overwrites, as `leakline cc` sees
// it (marks: cc_variables.c).
#include <stdbool.h>

#include "corpus.h"

ALLOCATES(first_ok)
ALLOCATES(under_double_bad)
ALLOCATES(under_int_bad)
ALLOCATES(under_short_bad)
ALLOCATES(under_bool_bad)
ALLOCATES(under_float_bad)
ALLOCATES(under_long_double_bad)
ALLOCATES(in_heap_bad)
ALLOCATES(in_global_bad)
ALLOCATES(in_global_member_bad)
ALLOCATES(through_pointer_bad)
ALLOCATES(through_member_bad)
ALLOCATES(in_table_bad)
ALLOCATES(under_structure_bad)
ALLOCATES(under_second_half_bad)
ALLOCATES(under_element_bad)
ALLOCATES(never_named_bad)
// Missed by the checker: who keeps some bits of an address may keep the address.
ALLOCATES(FN_under_bits_bad)
ALLOCATES(beside_bad)
ALLOCATES(freed_ok)
ALLOCATES(held_twice_bad)

struct point {
    int x;
    int y;
};

struct range {
    struct point from;
    char* text;
};

union value {
    char* text;
    double number;
    float part;
    int count;
    short few;
    bool is;
    struct point point;
    struct {
        unsigned low : 20;
        unsigned high : 12;
    } bits;
};

union wide {
    long double number;
    struct range range;
    int counts[4];
};

struct tagged {
    int tag;
    union value value;
};

struct anonymous {
    int tag;
    union {
        char* text;
        int count;
    };
};

struct owner {
    union value* value;
};

static volatile int always = 1;
static volatile int number = 7;
static union value global;
static struct tagged tagged_global;

SCENE void use(const volatile void* memory) {
    KEEP(memory);
}

SCENE void under_double(void) {
    union value value = {under_double_bad()};
    use(&value);
    value.number = number; // loss(under_double_bad): overwritten value.text
    use(&value);
}

SCENE void under_int(void) {
    union value value = {under_int_bad()};
    use(value.text);
    value.count = number; // loss(under_int_bad): overwritten value.text
    use(&value);
}

SCENE void under_short(void) {
    union value value = {under_short_bad()};
    use(&value);
    value.few = 3; // loss(under_short_bad): overwritten value.text
    use(&value);
    value.text = NULL;
}

SCENE void under_bool(void) {
    union value value = {(char*)under_bool_bad() + 1};
    use(&value);
    value.is = false; // loss(under_bool_bad): overwritten value.text
    use(&value);
    use(&always);
    value.text = NULL;
}

SCENE void under_float(void) {
    union value value = {under_float_bad()};
    use(&value);
    value.part = 1.5F; // loss(under_float_bad): overwritten value.text
    use(&value);
}

SCENE void under_long_double(void) {
    union wide value;
    value.range.from.x = 0;
    value.range.text = under_long_double_bad();
    use(&value);
    // loss(under_long_double_bad): overwritten value.range.text
    value.number = number;
    use(&value);
}

SCENE void in_heap(void) {
    struct tagged* node = malloc(sizeof *node);
    node->value.text = in_heap_bad();
    use(node);
    node->value.count = 2; // loss(in_heap_bad): overwritten node->value.text
    use(node);
    free(node);
}

SCENE void in_global(void) {
    global.text = in_global_bad();
    use(&global);
    global.count = number; // loss(in_global_bad): overwritten global.text
    use(&global);
    global.text = NULL;
}

SCENE void in_global_member(void) {
    tagged_global.value.text = in_global_member_bad();
    use(&tagged_global);
    // loss(in_global_member_bad): overwritten tagged_global.value.text
    tagged_global.value.count = number;
    use(&tagged_global);
    tagged_global.value.text = NULL;
}

SCENE void set(union value* value) {
    value->count = number; // loss(through_pointer_bad): overwritten value->text
    KEEP(value);
}

SCENE void through_pointer(void) {
    union value value = {through_pointer_bad()};
    set(&value);
    use(&value);
}

SCENE void set_member(const struct owner* owner) {
    // loss(through_member_bad): overwritten owner->value->text
    owner->value->part = 2.5F;
    KEEP(owner);
}

SCENE void through_member(void) {
    union value value = {through_member_bad()};
    struct owner owner = {&value};
    set_member(&owner);
    use(&value);
}

SCENE void in_table(void) {
    struct anonymous table[3] = {{0, {NULL}}, {1, {in_table_bad()}}, {2, {NULL}}};
    use(table);
    for (int i = 0; i < 3; i++) {
        table[i].count = i; // loss(in_table_bad): overwritten table[i].text
    }
    use(table);
}

SCENE void under_structure(void) {
    union value value = {under_structure_bad()};
    use(&value);
    value.point.x = number; // loss(under_structure_bad): overwritten value.text
    value.point.y = number;
    use(&value);
}

SCENE void under_second_half(void) {
    union value value = {under_second_half_bad()};
    use(&value);
    value.point.y = number; // loss(under_second_half_bad): overwritten value.text
    use(&value);
}

SCENE void under_element(void) {
    union wide value;
    value.range.from.x = 0;
    value.range.text = under_element_bad();
    use(&value);
    // loss(under_element_bad): overwritten value.range.text
    value.counts[2] = number;
    use(&value);
}

SCENE union value* found(union value* value) {
    KEEP(value);
    return value;
}

SCENE void never_named(void) {
    union value value = {never_named_bad()};
    found(&value)->number = number; // loss(never_named_bad): overwritten -
    use(&value);
}

SCENE void under_bits(void) {
    union value value = {FN_under_bits_bad()};
    use(&value);
    value.bits.low = 5; // loss(FN_under_bits_bad): overwritten value.text
    use(&value);
    value.text = NULL;
}

// What lies beside the reference loses nothing.
SCENE void beside(void) {
    union wide value;
    value.range.text = beside_bad();
    use(&value);
    value.range.from.x = number;
    value.counts[1] = number;
    use(&value);
} // loss(beside_bad): out-of-scope value.range.text

SCENE void freed(void) {
    union value value = {freed_ok()};
    free(value.text);
    value.count = number;
    use(&value);
}

SCENE void held_twice(void) {
    char* other = held_twice_bad();
    union value value = {other};
    use(&value);
    value.count = number;
    use(&value);
    KEEP(other);
    use(&always);
} // loss(held_twice_bad): out-of-scope other

int main(void) {
    // Half a pointer and a small number are the address of the heap's first block.
    char* first = first_ok();
    under_double();
    under_int();
    under_short();
    under_bool();
    under_float();
    under_long_double();
    in_heap();
    in_global();
    in_global_member();
    through_pointer();
    through_member();
    in_table();
    under_structure();
    under_second_half();
    under_element();
    never_named();
    under_bits();
    beside();
    freed();
    held_twice();
    free(first);
    return 0;
}
