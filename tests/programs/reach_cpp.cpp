// C++: all forms of new, smart pointers, exceptions, and pointers into the middle of an
// object as multiple inheritance and arrays with a cookie make them.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "corpus.h"

namespace {

struct Base1 {
    virtual ~Base1() = default;
    long one = 1;
};
struct Base2 {
    virtual ~Base2() = default;
    long two = 2;
};
struct Derived : Base1, Base2 {
    std::string text = "a text that is too long for the small string buffer";
};
struct Peer {
    std::shared_ptr<Peer> other;
};
struct alignas(128) Wide {
    char bytes[128];
};
struct Counted {
    ~Counted() {
        KEEP(this);
    }
    int value = 0;
};

Base2* kept_base;
Counted* kept_array;
std::map<std::string, std::vector<int>>* kept_map;

CASE void new_bad() {
    KEEP(new int(5));
}

CASE void new_array_bad() {
    KEEP(new int[100]);
}

CASE void new_nothrow_bad() {
    KEEP(new (std::nothrow) char[33]);
}

CASE void new_aligned_bad() {
    Wide* wide = new Wide;
    if (reinterpret_cast<uintptr_t>(wide) % 128 != 0) {
        std::abort();
    }
    KEEP(wide);
}

CASE void held_by_second_base_ok() {
    kept_base = new Derived;
}

CASE void array_with_cookie_ok() {
    kept_array = new Counted[10];
}

CASE void container_ok() {
    kept_map = new std::map<std::string, std::vector<int>>;
    for (int i = 0; i < 100; i++) {
        (*kept_map)["a rather long key number " + std::to_string(i)] = {1, 2, 3};
    }
}

CASE void smart_pointers_ok() {
    auto single = std::make_unique<Derived>();
    auto shared = std::make_shared<Derived>();
    KEEP(single.get());
    KEEP(shared.get());
}

// Missed by the checker: counters of references may stand for other owners.
CASE void FN_shared_pointer_ring_bad() {
    auto left = std::make_shared<Peer>();
    auto right = std::make_shared<Peer>();
    left->other = right;
    right->other = left;
}

CASE void thrown_past_bad() {
    char* buffer = new char[44];
    KEEP(buffer);
    throw std::runtime_error("the buffer is not owned by anyone");
}

CASE void thrown_past_ok() {
    auto buffer = std::make_unique<char[]>(45);
    KEEP(buffer.get());
    throw std::runtime_error("the buffer is owned");
}

CASE void all_deletes_ok() {
    delete new int;
    delete[] new int[10];
    delete new Wide;
    delete[] new Wide[3];
    ::operator delete(::operator new(10), std::size_t(10));
    ::operator delete(::operator new(10, std::align_val_t(64)), std::align_val_t(64));
    ::operator delete(::operator new(10, std::nothrow), std::nothrow);
}

CASE void too_large_throws_ok() {
    volatile std::size_t size = PTRDIFF_MAX;
    try {
        KEEP(::operator new(size));
        std::abort();
    } catch (const std::bad_alloc&) {
    }
    if (::operator new(size, std::nothrow) != nullptr) {
        std::abort();
    }
}

template <typename Function> void swallow(Function function) {
    try {
        function();
    } catch (const std::runtime_error&) {
    }
}

} // namespace

int main() {
    new_bad();
    new_array_bad();
    new_nothrow_bad();
    new_aligned_bad();
    held_by_second_base_ok();
    array_with_cookie_ok();
    container_ok();
    smart_pointers_ok();
    FN_shared_pointer_ring_bad();
    swallow(thrown_past_bad);
    swallow(thrown_past_ok);
    all_deletes_ok();
    too_large_throws_ok();
    KEEP(&kept_base);
    KEEP(&kept_array);
    KEEP(&kept_map);
    scrub();
    return 0;
}
