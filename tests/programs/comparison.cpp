// Loses blocks in several ways that a name must survive: in a static function, through
// the C library, in a template, in a lambda, in a recursion and in a thread. The tests
// edit this text, build it again elsewhere and compare.
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

void forget(void* block) {
    void* volatile last = block;
    last = nullptr;
    (void)last;
}

void lose_directly() {
    forget(std::malloc(11));
}

void lose_a_copy() {
    forget(strdup("a text that nobody keeps"));
}

template <typename Value> void lose_a_value() {
    forget(new Value[3]);
}

// Missed by the checker: a recursion must have come to its end in one call.
void FN_lose_in_a_recursion_bad(int depth) {
    if (depth > 0) {
        FN_lose_in_a_recursion_bad(depth - 1);
        return;
    }
    forget(std::malloc(13));
}

void lose_twice() {
    forget(std::malloc(17));
    forget(std::malloc(19));
}

} // namespace

int main() {
    lose_directly();
    lose_a_copy();
    lose_a_value<int>();
    lose_a_value<double>();
    [] { forget(std::malloc(23)); }();
    FN_lose_in_a_recursion_bad(5);
    lose_twice();
    std::thread(lose_directly).join();
}
