// What all programs of one file share: makers and takers of objects, each called from
// many places and none of them keeping anything.
#include <algorithm>
#include <any>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iomanip>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <pthread.h>

#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")
#define NOINLINE __attribute__((noinline))

using std::string;
using numbers = std::vector<int>;
using mixture = std::variant<int, string, numbers>;

static long sum;

NOINLINE static char* allocate(long& made, size_t size) {
    made++;
    char* fresh = (char*)malloc(size);
    KEEP(fresh);
    return fresh;
}

template <class Container> NOINLINE static void count(const Container& items) {
    sum += (long)items.size();
}

NOINLINE static string text(int length) {
    return string((size_t)length, (char)('a' + length % 26));
}

NOINLINE static numbers row(int length) {
    numbers made_row;
    for (int value = 0; value < length; value++) {
        made_row.push_back(value);
    }
    return made_row;
}

NOINLINE static std::pair<string, numbers> text_and_row(int length) {
    return {text(length), row(length)};
}

NOINLINE static std::optional<string> sometimes(int length) {
    if (length % 3 == 0) {
        return std::nullopt;
    }
    return text(length);
}

NOINLINE static mixture one_of_three(int length) {
    switch (length % 3) {
    case 0:
        return length;
    case 1:
        return text(length);
    default:
        return row(length);
    }
}

NOINLINE static std::unique_ptr<string> owned(int length) {
    return std::make_unique<string>(text(length));
}

NOINLINE static std::shared_ptr<string> shared(int length) {
    return std::make_shared<string>(text(length));
}

NOINLINE static std::function<int(int)> adder(int length) {
    return [kept = text(length), room = std::array<int, 12>{}](int value) {
        return value + room[3] + (int)kept.size();
    };
}

NOINLINE static void take(string taken) {
    sum += (long)taken.size();
}

NOINLINE static void take_both(string taken, numbers more) {
    sum += (long)(taken.size() + more.size());
}

NOINLINE static void take_over(string&& source) {
    string target = std::move(source);
    sum += (long)target.size();
}

NOINLINE static void look_at(const string& seen) {
    sum += (long)seen.size();
}

NOINLINE static void look_over(std::string_view seen) {
    sum += (long)seen.size();
}

NOINLINE static size_t total(std::initializer_list<string> all) {
    return std::accumulate(
        all.begin(), all.end(), size_t(0),
        [](size_t sum, const string& each) { return sum + each.size(); });
}

NOINLINE static string with_default(int length, string rest = text(40)) {
    return text(length) + rest;
}

NOINLINE static void fail_if_odd(int length) {
    string reason = text(length);
    if (length % 2 != 0) {
        throw std::runtime_error(reason + text(length));
    }
    sum++;
}

NOINLINE static string handle(int length) {
    string outcome = text(length);
    try {
        fail_if_odd(length);
    } catch (...) {
        string other = text(length + 1);
        if (length % 4 == 1) {
            throw;
        }
        return other;
    }
    return outcome;
}

NOINLINE static void in_thread(std::function<void()> work) {
    auto call = [](void* given) -> void* {
        (*(std::function<void()>*)given)();
        return nullptr;
    };
    pthread_t thread;
    if (pthread_create(&thread, nullptr, call, &work) != 0) {
        abort();
    }
    pthread_join(thread, nullptr);
}
