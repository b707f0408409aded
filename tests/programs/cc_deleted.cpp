// Variables that still point to an object which was deleted, while the next block that
// lies there is lost, as `leakline cc` sees it (marks: cc_variables.c).
#include "corpus.h"

// Bits of an address that are no reference.
typedef long hidden;

SCENE hidden hide(const void* block) {
    return ~(long)block;
}

// Loses the next block, which lies where another one was.
#define LOSES_NEXT(name)                                                               \
    __attribute__((noinline)) static char* name() {                                    \
        char* block = new char[24];                                                    \
        KEEP(block);                                                                   \
        return block;                                                                  \
    }                                                                                  \
    SCENE void lose_##name(hidden old) {                                               \
        char* next = name();                                                           \
        if (hide(next) != old) {                                                       \
            abort();                                                                   \
        }                                                                              \
        next = nullptr;                                                                \
        KEEP(next);                                                                    \
    }

// Missed by the checker: who has the number of an address may have the address.
LOSES_NEXT(FN_plain_bad)    // loss(FN_plain_bad): overwritten next
LOSES_NEXT(FN_object_bad)   // loss(FN_object_bad): overwritten next
LOSES_NEXT(FN_virtual_bad)  // loss(FN_virtual_bad): overwritten next
LOSES_NEXT(FN_final_bad)    // loss(FN_final_bad): overwritten next
LOSES_NEXT(FN_elements_bad) // loss(FN_elements_bad): overwritten next
LOSES_NEXT(FN_member_bad)   // loss(FN_member_bad): overwritten next
LOSES_NEXT(FN_callee_bad)   // loss(FN_callee_bad): overwritten next
LOSES_NEXT(FN_other_bad)    // loss(FN_other_bad): overwritten next

struct Plain {
    long numbers[3] = {};
};

struct Object {
    long numbers[3] = {};
    ~Object() {
        KEEP(this);
    }
};

struct Base {
    long numbers[2] = {};
    virtual void work() {
        KEEP(this);
    }
    virtual ~Base() {
        KEEP(this);
    }
};

struct Derived : Base {
    ~Derived() override {
        KEEP(this);
    }
};

struct Final final : Base {};

struct Element {
    long number = 0;
    ~Element() {
        KEEP(this);
    }
};

struct Owner {
    Base* owned;
};

static volatile int always = 1;

SCENE void plain() {
    auto* p = new Plain;
    hidden old = hide(p);
    KEEP(p);
    delete p;
    lose_FN_plain_bad(old);
    KEEP(&always);
}

SCENE void object() {
    auto* p = new Object;
    hidden old = hide(p);
    delete p;
    lose_FN_object_bad(old);
    KEEP(&always);
}

SCENE void virtually() {
    Base* p = always ? new Derived : new Base;
    hidden old = hide(p);
    p->work();
    delete p;
    lose_FN_virtual_bad(old);
    KEEP(&always);
}

SCENE void of_final_class() {
    auto* p = new Final;
    hidden old = hide(p);
    KEEP(p);
    delete p;
    lose_FN_final_bad(old);
    KEEP(&always);
}

SCENE void elements() {
    auto* p = new Element[2];
    hidden old = hide(reinterpret_cast<char*>(p) - sizeof(long));
    KEEP(p);
    delete[] p;
    lose_FN_elements_bad(old);
    KEEP(&always);
}

SCENE void member() {
    Owner owner = {new Derived};
    KEEP(&owner);
    hidden old = hide(owner.owned);
    delete owner.owned;
    lose_FN_member_bad(old);
    KEEP(&always);
}

SCENE void destroy(const char* why, Base* object) {
    KEEP(why);
    delete object;
}

SCENE void in_callee() {
    Base* p = new Derived;
    hidden old = hide(p);
    KEEP(p);
    destroy("", p);
    lose_FN_callee_bad(old);
    KEEP(&always);
}

SCENE void by_other_name() {
    Base* p = new Derived;
    Base* same = p;
    hidden old = hide(p);
    KEEP(same);
    delete p;
    lose_FN_other_bad(old);
    KEEP(&always);
}

int main() {
    plain();
    object();
    virtually();
    of_final_class();
    elements();
    member();
    in_callee();
    by_other_name();
    return 0;
}
