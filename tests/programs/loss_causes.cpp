// Every way in which memory that holds the last reference can go. A comment
// `loss(NAME): CAUSE` marks the line that loses what the function NAME allocated.
#include <cstdio>
#include <memory>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

extern "C" {
#include "corpus.h"
}

namespace {

struct Node {
    Node* left = nullptr;
    Node* right = nullptr;
    char* text = nullptr;
};

struct Owner {
    std::vector<char*> texts;
    char* name = nullptr;
};

struct Label {
    std::string text;
};

struct Config {
    int depth = 0;
    struct {
        char* path = nullptr;
    } log;
    char* hosts[3] = {};
};

Config config;
thread_local char* of_thread;
char* volatile grown;

// Missed by the checker: what a mapping holds is not followed.
CASE char* FN_at_mremap_bad() {
    return new char[340];
}

// Missed by the checker: what a mapping holds is not followed.
CASE char* FN_at_munmap_bad() {
    return new char[300];
}

// Missed by the checker: variables of a thread are globals to the checker.
CASE char* FN_at_thread_exit_bad() {
    return new char[301];
}

// Missed by the checker: inline assembly that sees the variable might keep it.
CASE char* FN_at_pthread_exit_bad() {
    return new char[302];
}

// Missed by the checker: the two ways in which a vector takes an element are joined.
CASE char* FN_in_vector_bad() {
    return new char[303];
}

CASE char* in_deleted_object_bad() {
    return new char[304];
}

// Missed by the checker: inline assembly that sees the variable might keep it.
CASE char* FN_in_unique_bad() {
    return new char[305];
}

CASE char* in_global_struct_bad() {
    return new char[306];
}

// Missed by the checker: an element at an unknown index may be another one.
CASE char* FN_in_global_array_bad() {
    return new char[307];
}

// Missed by the checker: a volatile may hold something else by now.
CASE char* FN_failed_realloc_bad() {
    return static_cast<char*>(malloc(308));
}

CASE char* behind_shrunk_bad() {
    return static_cast<char*>(malloc(309));
}

CASE char* moved_along_bad() {
    return static_cast<char*>(malloc(310));
}

CASE Node* tree_bad() {
    return new Node;
}

CASE char* in_worker_bad() {
    return new char[311];
}

CASE char* beside_stack_bad() {
    return new char[312];
}

// Missed by the checker: what a key holds is reachable to it for ever.
CASE char* FN_of_key_bad() {
    return new char[313];
}

// Missed by the checker: elements that a loop stores are not told apart.
CASE char* FN_in_array_bad(int index) {
    return new char[314 + index];
}

// Missed by the checker: the string might keep what refers to it.
CASE Label* FN_around_string_bad() {
    return new Label;
}

// Missed by the checker: variables of a thread are globals to the checker.
CASE char* FN_of_cpp_thread_bad() {
    return new char[330];
}

CASE void unmap_region() {
    void* region = mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static_cast<char**>(region)[600] = FN_at_munmap_bad();
    scrub();
    munmap(region, 3 * 4096); // loss(FN_at_munmap_bad): unmapped
}

CASE void replace_region() {
    size_t size = 3 * 4096;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    int access = PROT_READ | PROT_WRITE;
    void* region = mmap(nullptr, size, access, flags, -1, 0);
    void* other = mmap(nullptr, size, access, flags, -1, 0);
    static_cast<char**>(region)[600] = FN_at_mremap_bad();
    scrub();
    int how = MREMAP_MAYMOVE | MREMAP_FIXED;
    mremap(other, size, size, how, region); // loss(FN_at_mremap_bad): unmapped
    munmap(region, size);
}

void* keep_in_thread(void*) { // loss(FN_at_thread_exit_bad): thread-exit
    of_thread = FN_at_thread_exit_bad();
    KEEP(&of_thread);
    return nullptr;
}

void* leave_thread(void*) {
    char* volatile mine = FN_at_pthread_exit_bad();
    KEEP(&mine);
    pthread_exit(nullptr); // loss(FN_at_pthread_exit_bad): thread-exit
}

void* overwrite_in_thread(void*) {
    of_thread = in_worker_bad();
    KEEP(&of_thread);
    scrub();
    of_thread = nullptr; // loss(in_worker_bad): overwritten
    KEEP(&of_thread);
    return nullptr;
}

void* overwrite_beside_stack(void* words) {
    char* volatile* beside = static_cast<char* volatile*>(words);
    beside[1] = beside_stack_bad();
    scrub();
    beside[1] = nullptr; // loss(beside_stack_bad): overwritten
    scrub();
    return nullptr;
}

void* keep_by_key(void* key) { // loss(FN_of_key_bad): thread-exit
    pthread_setspecific(*static_cast<pthread_key_t*>(key), FN_of_key_bad());
    return nullptr;
}

CASE void run_thread(void* (*routine)(void*), void* argument = nullptr,
                     const pthread_attr_t* attributes = nullptr) {
    pthread_t thread;
    pthread_create(&thread, attributes, routine, argument);
    pthread_join(thread, nullptr);
}

// The mapping of the stack goes on behind its end.
CASE void run_on_mapping() {
    constexpr size_t stack_bytes = 128 << 10;
    void* mapping = mmap(nullptr, stack_bytes + 4096, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, mapping, stack_bytes);
    run_thread(overwrite_beside_stack, static_cast<char*>(mapping) + stack_bytes,
               &attributes);
    pthread_attr_destroy(&attributes);
}

void keep_in_cpp_thread() { // loss(FN_of_cpp_thread_bad): thread-exit
    of_thread = FN_of_cpp_thread_bad();
    KEEP(&of_thread);
}

CASE void run_cpp_thread() {
    std::thread thread(keep_in_cpp_thread);
    thread.join();
}

CASE void run_with_key() {
    pthread_key_t key;
    pthread_key_create(&key, nullptr);
    run_thread(keep_by_key, &key);
}

CASE void drop_vector() {
    auto* owner = new Owner;
    owner->texts.push_back(FN_in_vector_bad());
    owner->name = in_deleted_object_bad();
    KEEP(owner);
    scrub();
    delete owner; // loss(FN_in_vector_bad): container-freed
    // loss(in_deleted_object_bad): container-freed
}

CASE void release_unique() {
    static std::unique_ptr<char[]> holder;
    holder.reset(FN_in_unique_bad());
    KEEP(&holder);
    scrub();
    (void)holder.release(); // loss(FN_in_unique_bad): overwritten
    KEEP(&holder);
}

CASE void clear_globals(int index) {
    config.log.path = in_global_struct_bad();
    config.hosts[index] = FN_in_global_array_bad();
    KEEP(&config);
    scrub();
    config.log.path = nullptr; // loss(in_global_struct_bad): overwritten
    config.hosts[2] = nullptr; // loss(FN_in_global_array_bad): overwritten
    KEEP(&config);
}

CASE void fail_to_grow(size_t size) {
    grown = FN_failed_realloc_bad();
    scrub();
    grown = static_cast<char*>(
        realloc(grown, size)); // loss(FN_failed_realloc_bad): overwritten
}

CASE void shrink() {
    auto** table = static_cast<char**>(calloc(100, sizeof(char*)));
    table[90] = behind_shrunk_bad();
    table[10] = moved_along_bad();
    scrub();
    table = static_cast<char**>(
        realloc(table, 60 * sizeof(char*))); // loss(behind_shrunk_bad): container-freed
    table = static_cast<char**>(realloc(table, 5000 * sizeof(char*)));
    scrub();
    table[10] = nullptr; // loss(moved_along_bad): overwritten
    KEEP(table);
    free(table);
}

CASE void drop_array() {
    auto** items = static_cast<char**>(calloc(8, sizeof(char*)));
    for (int i = 0; i < 8; i++) {
        items[i] = FN_in_array_bad(i);
    }
    scrub();
    free(items); // loss(FN_in_array_bad): container-freed
}

// A short text lies in the string itself, which refers to it until the text is longer.
CASE size_t drop_label() {
    Label* label = FN_around_string_bad();
    label->text.reserve(100);
    return label->text.size(); // loss(FN_around_string_bad): out-of-scope
}

CASE void drop_tree() {
    static Node* root;
    root = tree_bad();
    root->left = tree_bad();
    root->right = tree_bad();
    root->right->left = tree_bad();
    KEEP(&root);
    scrub();
    root = nullptr; // loss(tree_bad): overwritten
    KEEP(&root);
}

} // namespace

int main() {
    unmap_region();
    replace_region();
    run_thread(keep_in_thread);
    run_thread(leave_thread);
    run_thread(overwrite_in_thread);
    run_cpp_thread();
    run_with_key();
    drop_vector();
    release_unique();
    clear_globals(2);
    fail_to_grow(SIZE_MAX / 4);
    shrink();
    drop_array();
    drop_label();
    drop_tree();
    run_on_mapping();
    scrub();
    return 0;
}
