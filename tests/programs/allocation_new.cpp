// Prints what operator new and delete do in all their forms, also when memory runs out:
// the new-handler is called, std::bad_alloc is thrown, and the nothrow forms return
// null.
#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

static volatile std::size_t huge = PTRDIFF_MAX - 100;
static int handler_calls;

static void give_up_the_third_time() {
    if (++handler_calls == 3) {
        std::set_new_handler(nullptr);
    }
}

template <typename Function>
static void expect_bad_alloc(const char* name, Function f) {
    handler_calls = 0;
    std::set_new_handler(give_up_the_third_time);
    try {
        std::printf("%s returned %s\n", name, f() == nullptr ? "null" : "a block");
    } catch (const std::bad_alloc& error) {
        std::printf("%s threw %s\n", name, error.what());
    }
    std::printf("the handler was called %d times\n", handler_calls);
}

struct alignas(256) Wide {
    char bytes[300];
};

static void every_form_serves() {
    int* one = new int(1);
    int* many = new int[100];
    Wide* wide = new Wide;
    Wide* wides = new Wide[3];
    int* maybe = new (std::nothrow) int(2);
    std::printf("%d %d %d %d\n", *one + *maybe, many != nullptr,
                reinterpret_cast<std::uintptr_t>(wide) % 256 == 0,
                reinterpret_cast<std::uintptr_t>(wides) % 256 == 0);
    delete one;
    delete[] many;
    delete wide;
    delete[] wides;
    operator delete(maybe, std::nothrow);
    operator delete(operator new(40), std::size_t{40});
    operator delete[](operator new[](40), std::size_t{40});
    std::align_val_t alignment{64};
    operator delete(operator new(40, alignment), std::size_t{40}, alignment);
    operator delete[](operator new[](40, alignment, std::nothrow), alignment,
                      std::nothrow);
}

int main() {
    every_form_serves();
    expect_bad_alloc("new", [] { return operator new(huge); });
    expect_bad_alloc("new[]", [] { return operator new[](huge); });
    expect_bad_alloc("nothrow", [] { return operator new(huge, std::nothrow); });
    expect_bad_alloc("nothrow[]", [] { return operator new[](huge, std::nothrow); });
    std::align_val_t alignment{128};
    expect_bad_alloc("aligned", [&] { return operator new(huge, alignment); });
    expect_bad_alloc("aligned[]", [&] { return operator new[](huge, alignment); });
    expect_bad_alloc("aligned nothrow",
                     [&] { return operator new(huge, alignment, std::nothrow); });
    std::vector<std::vector<int>> grown;
    for (int i = 0; i < 1000; i++) {
        grown.emplace_back(static_cast<std::size_t>(i), i);
    }
    std::printf("%zu\n", grown[999].size());
    return 0;
}
