// The lines on which scopes with objects are left, as `leakline cc` sees it (marks:
// cc_variables.c).
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "corpus.h"

#define BY_NEW(name)                                                                   \
    __attribute__((noinline)) static char* name() {                                    \
        char* block = new char[24];                                                    \
        KEEP(block);                                                                   \
        return block;                                                                  \
    }

BY_NEW(thrown_over_object_bad)
BY_NEW(thrown_in_inner_scope_bad)
BY_NEW(thrown_by_second_call_bad)
// Missed by the checker: arrays of objects are made and destroyed in loops.
BY_NEW(FN_thrown_over_array_bad)
BY_NEW(caught_here_bad)
BY_NEW(left_in_handler_bad)
BY_NEW(thrown_on_bad)
BY_NEW(returned_object_bad)
BY_NEW(returned_one_of_two_bad)
BY_NEW(returned_variable_bad)
BY_NEW(returned_pair_bad)
BY_NEW(returned_pointer_bad)
BY_NEW(in_condition_bad)
BY_NEW(freed_ok)

static volatile int always = 1;
static volatile int never;

SCENE void throws(bool does) {
    KEEP(&does);
    if (does) {
        throw std::runtime_error("thrown");
    }
}

SCENE void throw_over_object() {
    std::string name(40, 'x');
    char* p = thrown_over_object_bad();
    KEEP(p);
    if (always) {
        throw std::runtime_error(name); // loss(thrown_over_object_bad): out-of-scope p
    }
    delete[] p;
}

SCENE void throw_in_inner_scope() {
    std::string outer(40, 'x');
    char* p = thrown_in_inner_scope_bad();
    KEEP(p);
    {
        std::string inner(50, 'x');
        throws(never);
        std::string innermost(60, 'x');
        throws(always); // loss(thrown_in_inner_scope_bad): out-of-scope p
        KEEP(p);
    }
    throws(never);
    delete[] p;
}

SCENE void throw_by_second_call() {
    std::string name(40, 'x');
    char* p = thrown_by_second_call_bad();
    KEEP(p);
    throws(never);
    throws(always); // loss(thrown_by_second_call_bad): out-of-scope p
    throws(never);
    delete[] p;
}

SCENE void throw_over_array() {
    std::string names[3];
    char* p = FN_thrown_over_array_bad();
    KEEP(p);
    throws(never);
    std::string others[2];
    throws(always); // loss(FN_thrown_over_array_bad): out-of-scope p
    delete[] p;
}

SCENE void catch_here() {
    try {
        std::string name(40, 'x');
        char* p = caught_here_bad();
        KEEP(p);
        throws(never);
        if (always) {
            throw 1; // loss(caught_here_bad): out-of-scope p
        }
        delete[] p;
    } catch (int) {
        KEEP(&always);
    }
}

SCENE void leave_handler() {
    std::string name(40, 'x');
    for (int i = 0; i < 1; i++) {
        try {
            throws(always);
        } catch (const std::exception& e) {
            char* p = left_in_handler_bad();
            KEEP(p);
            if (always) {
                KEEP(&always);
                continue; // loss(left_in_handler_bad): out-of-scope p
            }
            KEEP(e.what());
            delete[] p;
        }
    }
}

SCENE void throw_on() {
    char* p = thrown_on_bad();
    KEEP(p);
    try {
        throws(always);
    } catch (...) {
        KEEP(&always);
        throw; // loss(thrown_on_bad): out-of-scope p
    }
    delete[] p;
}

SCENE std::string return_object() {
    char* p = returned_object_bad();
    KEEP(p);
    return std::string(40, 'x'); // loss(returned_object_bad): out-of-scope p
}

SCENE std::string return_one_of_two() {
    char* p = returned_one_of_two_bad();
    KEEP(p);
    // loss(returned_one_of_two_bad): out-of-scope p
    return always ? std::string("one") : std::string("other");
}

SCENE std::string return_variable() {
    std::string name(40, 'x');
    char* p = returned_variable_bad();
    KEEP(p);
    name += "y";
    return name; // loss(returned_variable_bad): out-of-scope p
}

SCENE std::pair<int, int> return_pair() {
    std::string name(40, 'x');
    char* p = returned_pair_bad();
    KEEP(p);
    return {always, never}; // loss(returned_pair_bad): out-of-scope p
}

SCENE std::unique_ptr<int> return_pointer() {
    char* p = returned_pointer_bad();
    KEEP(p);
    return std::make_unique<int>(always); // loss(returned_pointer_bad): out-of-scope p
}

SCENE void declare_in_condition() {
    if (char* p = in_condition_bad()) {
        KEEP(p);
        KEEP(&always);
    } // loss(in_condition_bad): out-of-scope p
    KEEP(&never);
}

SCENE void free_all() {
    std::string name(40, 'x');
    char* p = freed_ok();
    KEEP(p);
    delete[] p;
}

template <typename Function> SCENE void run(Function function) {
    try {
        function();
    } catch (const std::exception& e) {
        KEEP(e.what());
    }
}

int main() {
    run(throw_over_object);
    run(throw_in_inner_scope);
    run(throw_by_second_call);
    run(throw_over_array);
    run(catch_here);
    run(leave_handler);
    run(throw_on);
    run(return_object);
    run(return_one_of_two);
    run(return_variable);
    run(return_pair);
    run(return_pointer);
    run(declare_in_condition);
    run(free_all);
    return 0;
}
