// Aggregates, and variables whose address is known, in functions that an exception
// passes, as `leakline cc` sees it (marks: cc_variables.c).
#include <stdexcept>
#include <string>

#include "corpus.h"

#define BY_NEW(name)                                                                   \
    __attribute__((noinline)) static char* name() {                                    \
        char* block = new char[24];                                                    \
        KEEP(block);                                                                   \
        return block;                                                                  \
    }

BY_NEW(by_address_bad)
BY_NEW(in_structure_bad)
BY_NEW(in_array_bad)
BY_NEW(in_large_structure_bad)
BY_NEW(in_union_bad)
BY_NEW(in_outer_scope_bad)
BY_NEW(in_inner_scope_bad)
BY_NEW(in_last_turn_bad)
BY_NEW(in_parameter_bad)
BY_NEW(beside_cleanup_bad)
BY_NEW(before_cleanup_bad)
BY_NEW(in_try_bad)
BY_NEW(in_handler_bad)
BY_NEW(behind_scope_bad)
BY_NEW(not_thrown_bad)
BY_NEW(given_back_ok)
BY_NEW(kept_elsewhere_ok)

static volatile int always = 1;
static volatile int never;
static char* kept;

struct two {
    char* first;
    char* second;
};

struct large {
    two pairs[12];
};

union either {
    char* text;
    long number;
};

SCENE void use(const volatile void* slots) {
    KEEP(slots);
}

SCENE void throws(bool does) {
    KEEP(&does);
    if (does) {
        throw std::runtime_error("thrown");
    }
}

SCENE void by_address() {
    char* p = by_address_bad();
    use(&p);
    throws(always); // loss(by_address_bad): out-of-scope p
    delete[] p;
}

SCENE void in_structure() {
    two texts = {nullptr, in_structure_bad()};
    use(&texts);
    throws(never);
    throws(always); // loss(in_structure_bad): out-of-scope texts.second
    delete[] texts.second;
}

SCENE void in_array() {
    char* texts[3] = {nullptr, in_array_bad(), nullptr};
    use(texts);
    throws(always); // loss(in_array_bad): out-of-scope texts[1]
    delete[] texts[1];
}

SCENE void in_large_structure() {
    large texts = {};
    texts.pairs[7].second = in_large_structure_bad();
    use(&texts);
    throws(always); // loss(in_large_structure_bad): out-of-scope texts
    delete[] texts.pairs[7].second;
}

SCENE void in_union() {
    either value;
    value.text = in_union_bad();
    use(&value);
    throws(always); // loss(in_union_bad): out-of-scope value.text
    delete[] value.text;
}

SCENE void in_outer_scope() {
    two outer = {in_outer_scope_bad(), nullptr};
    use(&outer);
    for (int i = 0; i < 2; i++) {
        two inner = {nullptr, nullptr};
        use(&inner);
        throws(i == 1); // loss(in_outer_scope_bad): out-of-scope outer.first
    }
    delete[] outer.first;
}

SCENE void in_inner_scope() {
    two outer = {nullptr, nullptr};
    use(&outer);
    if (always) {
        two inner = {nullptr, in_inner_scope_bad()};
        use(&inner);
        throws(always); // loss(in_inner_scope_bad): out-of-scope inner.second
        delete[] inner.second;
    }
    throws(never);
}

SCENE void in_last_turn() {
    for (int i = 0; i < 3; i++) {
        two inner = {i == 2 ? in_last_turn_bad() : given_back_ok(), nullptr};
        use(&inner);
        throws(i == 2); // loss(in_last_turn_bad): out-of-scope inner.first
        delete[] inner.first;
    }
}

SCENE void pass(two texts) {
    use(&texts);
    throws(always); // loss(in_parameter_bad): out-of-scope texts.first
    delete[] texts.first;
}

SCENE void in_parameter() {
    pass({in_parameter_bad(), nullptr});
}

SCENE void beside_cleanup() {
    two texts = {beside_cleanup_bad(), nullptr};
    use(&texts);
    std::string name(40, 'x');
    throws(always); // loss(beside_cleanup_bad): out-of-scope texts.first
    delete[] texts.first;
}

SCENE void before_cleanup() {
    two texts = {before_cleanup_bad(), nullptr};
    use(&texts);
    throws(always); // loss(before_cleanup_bad): out-of-scope texts.first
    std::string name(40, 'x');
    use(&name);
    delete[] texts.first;
}

SCENE void in_try() {
    try {
        two texts = {nullptr, in_try_bad()};
        use(&texts);
        throws(always); // loss(in_try_bad): out-of-scope texts.second
        delete[] texts.second;
    } catch (const std::exception& e) {
        use(&e);
    }
}

SCENE void in_handler() {
    try {
        throws(always);
    } catch (const std::exception& e) {
        two texts = {in_handler_bad(), nullptr};
        use(&texts);
        throws(always); // loss(in_handler_bad): out-of-scope texts.first
        delete[] texts.first;
    }
}

SCENE void behind_scope() {
    {
        two inner = {behind_scope_bad(), nullptr};
        use(&inner);
    } // loss(behind_scope_bad): out-of-scope inner.first
    throws(always);
}

SCENE void not_thrown() {
    two texts = {not_thrown_bad(), nullptr};
    use(&texts);
    throws(never);
    use(&always);
} // loss(not_thrown_bad): out-of-scope texts.first

SCENE void given_back() {
    two texts = {given_back_ok(), nullptr};
    use(&texts);
    kept = texts.first;
    throws(always);
}

SCENE void kept_elsewhere() {
    two texts = {kept_elsewhere_ok(), nullptr};
    use(&texts);
    kept = texts.first;
    throws(always);
}

template <typename Function> SCENE void run(Function function) {
    try {
        function();
    } catch (const std::exception& e) {
        KEEP(e.what());
    }
}

int main() {
    run(by_address);
    run(in_structure);
    run(in_array);
    run(in_large_structure);
    run(in_union);
    run(in_outer_scope);
    run(in_inner_scope);
    run(in_last_turn);
    run(in_parameter);
    run(beside_cleanup);
    run(before_cleanup);
    run(in_try);
    run(in_handler);
    run(behind_scope);
    run(not_thrown);
    run(given_back);
    delete[] kept;
    run(kept_elsewhere);
    return 0;
}
