// C++ objects that lose what they hold, as `leakline cc` sees it (marks:
// cc_variables.c).
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "corpus.h"

#define BY_NEW(name)                                                                   \
    __attribute__((noinline)) static char* name() {                                    \
        char* block = new char[24];                                                    \
        KEEP(block);                                                                   \
        return block;                                                                  \
    }

BY_NEW(passed_by_exception_bad)
BY_NEW(passed_with_cleanup_bad)
BY_NEW(passed_at_second_call_bad)
BY_NEW(passed_along_bad)
BY_NEW(left_by_throw_bad)
BY_NEW(member_bad)
BY_NEW(reference_bad)
BY_NEW(captured_bad)
BY_NEW(released_from_smart_pointer_bad)
BY_NEW(replaced_in_vector_bad)
BY_NEW(held_by_element_bad)
BY_NEW(where_argument_was_bad)
BY_NEW(where_value_was_bad)
// Missed by the checker: another function fills an array in a loop before.
BY_NEW(FN_where_old_words_lead_bad)
BY_NEW(caught_ok)
BY_NEW(owned_ok)

struct Holder {
    char* text = nullptr;
    ~Holder() {
        KEEP(this);
    }
};

SCENE void throws(bool does) {
    KEEP(&does);
    if (does) {
        throw std::runtime_error("thrown");
    }
}

SCENE void without_cleanup() {
    char* p = passed_by_exception_bad();
    KEEP(p);
    throws(true); // loss(passed_by_exception_bad): out-of-scope p
    delete[] p;
}

SCENE void with_cleanup() {
    std::string text(100, 'x');
    char* p = passed_with_cleanup_bad();
    KEEP(p);
    throws(true); // loss(passed_with_cleanup_bad): out-of-scope p
    delete[] p;
}

SCENE void several_calls() {
    std::string text(100, 'x');
    char* p = passed_at_second_call_bad();
    char* q = passed_along_bad();
    KEEP(p);
    throws(false);
    KEEP(q);
    // loss(passed_along_bad): out-of-scope q
    throws(true); // loss(passed_at_second_call_bad): out-of-scope p
    KEEP(p);
    throws(false);
    delete[] p;
    delete[] q;
}

SCENE void throwing() {
    char* p = left_by_throw_bad();
    KEEP(p);
    throw std::runtime_error("here"); // loss(left_by_throw_bad): out-of-scope p
}

SCENE void catching() {
    char* p = caught_ok();
    try {
        throws(true);
    } catch (const std::exception&) {
        delete[] p;
        return;
    }
    KEEP(p);
}

SCENE void objects() {
    Holder holder;
    holder.text = member_bad();
    KEEP(&holder);
} // loss(member_bad): out-of-scope holder.text

SCENE void by_reference(char*& slot) {
    slot = reference_bad();
    KEEP(slot);
    slot = nullptr; // loss(reference_bad): overwritten *slot
    KEEP(&slot);
}

SCENE void lambdas() {
    char* p = captured_bad();
    auto drop = [&p] {
        p = nullptr; // loss(captured_bad): overwritten *this->p
        KEEP(&p);
    };
    KEEP(&drop);
    drop();
}

SCENE void smart_pointers() {
    std::unique_ptr<char[]> owned(owned_ok());
    KEEP(owned.get());
    std::unique_ptr<char[]> given(released_from_smart_pointer_bad());
    KEEP(&given);
    given.release(); // loss(released_from_smart_pointer_bad): never-stored -
}

SCENE void containers() {
    std::vector<char*> list(8);
    list[3] = replaced_in_vector_bad();
    KEEP(list.data());
    list[3] = nullptr; // loss(replaced_in_vector_bad): overwritten -
    KEEP(list.data());
}

alignas(Holder) static char room[sizeof(Holder)];

SCENE void elements() {
    auto* holder = new (room) Holder;
    holder->text = held_by_element_bad();
    holder->~Holder(); // loss(held_by_element_bad): out-of-scope *holder
}

// As long as the blocks of this program, which get its memory.
SCENE std::string text() {
    return std::string(23, 'x');
}

SCENE void take(std::string given) {
    KEEP(&given);
}

// The caller's room for the argument holds the address of a text that is gone.
SCENE void arguments() {
    for (bool is_first : {true, false}) {
        take(text());
        if (is_first) {
            char* p = where_argument_was_bad();
            KEEP(p);
        } // loss(where_argument_was_bad): out-of-scope p
    }
}

static std::optional<std::string> kept;

SCENE void values() {
    for (bool is_first : {true, false}) {
        kept = text();
        kept.reset();
        if (is_first) {
            char* p = where_value_was_bad();
            KEEP(p);
        } // loss(where_value_was_bad): out-of-scope p
    }
}

SCENE void leave_words(char* old) {
    char* words[60];
    for (char*& word : words) {
        word = old;
    }
    KEEP(words);
}

// Bytes are no variable with references, but objects are made in them.
SCENE void make_in_bytes() {
    alignas(Holder) char bytes[20 * sizeof(Holder)];
    for (size_t i = 0; i < 20; i++) {
        auto* holder = new (bytes + i * sizeof(Holder)) Holder;
        KEEP(holder);
        holder->~Holder();
    }
}

SCENE void old_words() {
    for (int turn = 0; turn < 3; turn++) {
        char* old = new char[24];
        leave_words(old);
        KEEP(old);
        delete[] old;
        old = nullptr;
        {
            char* p = FN_where_old_words_lead_bad();
            KEEP(p);
        } // loss(FN_where_old_words_lead_bad): out-of-scope p
        make_in_bytes();
    }
}

int main() {
    for (auto scene : {without_cleanup, with_cleanup, several_calls, throwing}) {
        try {
            scene();
        } catch (const std::exception&) {
            KEEP(scene);
        }
    }
    catching();
    objects();
    char* slot = nullptr;
    by_reference(slot);
    lambdas();
    smart_pointers();
    containers();
    elements();
    arguments();
    values();
    old_words();
    scrub();
    return 0;
}
