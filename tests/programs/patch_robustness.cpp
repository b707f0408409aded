// Threads, exceptions through many frames, signals at 1 kHz, dlopen, fork, vfork and
// longjmp, all at once: prints the same lines whatever happens to its code.
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

struct Node {
    Node* next;
    std::string text;
    Node(Node* following, int number)
        : next(following),
          text(std::to_string(number) + "-longer-than-a-short-string") {
    }
};

std::atomic<long> total{0};
volatile sig_atomic_t ticks;
thread_local jmp_buf way_back;

void on_alarm(int) {
    ticks = ticks + 1;
}

int throw_below(int depth, Node* node) {
    if (depth == 0) {
        throw std::runtime_error(node->text);
    }
    std::unique_ptr<Node> own(new Node(node, depth));
    return throw_below(depth - 1, own.get()) + 1;
}

void jump_from_below(int depth) {
    if (depth == 0 && total >= 0) {
        longjmp(way_back, 1);
    }
    if (depth > 0) {
        jump_from_below(depth - 1);
    }
    total += depth;
}

void come_back() {
    if (setjmp(way_back) == 0) {
        jump_from_below(20);
    } else {
        total += 1;
    }
}

void catch_exception(int number) {
    Node root(nullptr, number);
    try {
        throw_below(20, &root);
    } catch (const std::exception& error) {
        total += static_cast<long>(strlen(error.what()));
    }
}

void work(int factor) {
    std::map<int, std::string> words;
    for (int i = 0; i < 4000; i++) {
        words[i % 977] = std::to_string(i * factor) + "abcdefghijklmnopqrstuvwxyz";
        if (i % 100 == 0) {
            catch_exception(i);
            come_back();
        }
    }
    for (const auto& word : words) {
        total += static_cast<long>(word.second.size());
    }
}

void start_alarms() {
    struct sigaction action = {};
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    itimerval every_millisecond = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every_millisecond, nullptr);
}

void load_and_unload() {
    for (int i = 0; i < 3; i++) {
        void* library = dlopen("libz.so.1", RTLD_NOW);
        using Function = unsigned long (*)(unsigned long);
        auto bound = reinterpret_cast<Function>(dlsym(library, "compressBound"));
        printf("loaded %d\n", bound(100) > 100);
        dlclose(library);
    }
}

int status_of(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) < 0) {
    }
    return WEXITSTATUS(status);
}

} // namespace

int main() {
    start_alarms();
    std::vector<std::thread> threads;
    for (int i = 1; i <= 4; i++) {
        threads.emplace_back(work, i);
    }
    load_and_unload();
    for (auto& thread : threads) {
        thread.join();
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        work(7);
        _exit(total > 0 ? 42 : 1);
    }
    printf("fork %d\n", status_of(child));
    child = vfork();
    if (child == 0) {
        execlp("/bin/true", "true", static_cast<char*>(nullptr));
        _exit(9);
    }
    printf("vfork %d\n", status_of(child));
    printf("total %ld\n", total.load());
    return ticks > 0 ? 0 : 3;
}
