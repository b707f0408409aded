// The process becomes another program, or starts one. Its heap is looked at before, for
// nothing is left of it afterwards.
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "base/attributes.h"
#include "entry/real.h"
#include "format/records.h"
#include "process/process.h"

// Looks, and tells where the process goes. Inlined, so that the look starts at the
// program's call.
LL_INLINE void before_exec(const char* path) {
    struct ll_occasion here = LL_OCCASION_HERE(LL_TRIGGER_exec, 0);
    ll_process_look(&here);
    ll_process_note_exec(path == NULL ? "" : path);
}

static int after_failed_exec(void) {
    ll_process_note_exec_failed(errno);
    return -1;
}

LL_EXPORT int execve(const char* path, char* const arguments[],
                     char* const environment[]) {
    before_exec(path);
    ll_real()->execve(path, arguments, environment);
    return after_failed_exec();
}

LL_EXPORT int execv(const char* path, char* const arguments[]) {
    before_exec(path);
    ll_real()->execve(path, arguments, environ);
    return after_failed_exec();
}

LL_EXPORT int execvpe(const char* file, char* const arguments[],
                      char* const environment[]) {
    before_exec(file);
    ll_real()->execvpe(file, arguments, environment);
    return after_failed_exec();
}

LL_EXPORT int execvp(const char* file, char* const arguments[]) {
    before_exec(file);
    ll_real()->execvpe(file, arguments, environ);
    return after_failed_exec();
}

LL_EXPORT int fexecve(int file, char* const arguments[], char* const environment[]) {
    before_exec("");
    ll_real()->fexecve(file, arguments, environment);
    return after_failed_exec();
}

LL_EXPORT int execveat(int folder, const char* path, char* const arguments[],
                       char* const environment[], int flags) {
    before_exec(path);
    ll_real()->execveat(folder, path, arguments, environment, flags);
    return after_failed_exec();
}

// The arguments of the execl functions as an array on the caller's stack, as POSIX
// allows these functions in a signal handler: `first`, then those in `list` up to NULL.
#define COUNT_ARGUMENTS(first, count)                                                  \
    do {                                                                               \
        va_list list_;                                                                 \
        const char* argument_ = (first);                                               \
        va_start(list_, first);                                                        \
        for (count = 1; argument_ != NULL; count++) {                                  \
            argument_ = va_arg(list_, const char*);                                    \
        }                                                                              \
        va_end(list_);                                                                 \
    } while (0)

static void copy_arguments(const char** array, const char* first, va_list list) {
    array[0] = first;
    for (size_t i = 0; array[i] != NULL; i++) {
        array[i + 1] = va_arg(list, const char*);
    }
}

LL_EXPORT int execl(const char* path, const char* first, ...) {
    size_t count;
    va_list list;
    COUNT_ARGUMENTS(first, count);
    const char* array[count + 1];
    va_start(list, first);
    copy_arguments(array, first, list);
    va_end(list);
    before_exec(path);
    ll_real()->execve(path, (char* const*)array, environ);
    return after_failed_exec();
}

LL_EXPORT int execlp(const char* file, const char* first, ...) {
    size_t count;
    va_list list;
    COUNT_ARGUMENTS(first, count);
    const char* array[count + 1];
    va_start(list, first);
    copy_arguments(array, first, list);
    va_end(list);
    before_exec(file);
    ll_real()->execvpe(file, (char* const*)array, environ);
    return after_failed_exec();
}

LL_EXPORT int execle(const char* path, const char* first, ...) {
    size_t count;
    va_list list;
    COUNT_ARGUMENTS(first, count);
    const char* array[count + 1];
    va_start(list, first);
    copy_arguments(array, first, list);
    char* const* environment = va_arg(list, char* const*);
    va_end(list);
    before_exec(path);
    ll_real()->execve(path, (char* const*)array, environment);
    return after_failed_exec();
}

static int after_spawn(int error, pid_t pid, pid_t* child, const char* path) {
    if (error == 0) {
        ll_process_note_spawn(pid, path);
        if (child != NULL) {
            *child = pid;
        }
    }
    return error;
}

LL_EXPORT int posix_spawn(pid_t* child, const char* path,
                          const posix_spawn_file_actions_t* actions,
                          const posix_spawnattr_t* attributes, char* const arguments[],
                          char* const environment[]) {
    pid_t pid = 0;
    int error =
        ll_real()->posix_spawn(&pid, path, actions, attributes, arguments, environment);
    return after_spawn(error, pid, child, path);
}

LL_EXPORT int posix_spawnp(pid_t* child, const char* file,
                           const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const arguments[],
                           char* const environment[]) {
    pid_t pid = 0;
    int error = ll_real()->posix_spawnp(&pid, file, actions, attributes, arguments,
                                        environment);
    return after_spawn(error, pid, child, file);
}
