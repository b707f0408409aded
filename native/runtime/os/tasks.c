#include "os/tasks.h"

#include <fcntl.h>

#include "base/text.h"
#include "os/file.h"
#include "os/syscall.h"

// The kernel's struct linux_dirent64 up to the name.
struct directory_entry {
    uint64_t inode;
    int64_t next;
    uint16_t length;
    uint8_t type;
    char name[];
};

static int parse_tid(const char* name) {
    int tid = 0;
    for (; *name >= '0' && *name <= '9'; name++) {
        tid = tid * 10 + (*name - '0');
    }
    return *name == '\0' ? tid : 0;
}

static bool visit_entries(const char* entries, long length, ll_tasks_visitor* visit,
                          void* context) {
    for (long at = 0; at < length;) {
        const struct directory_entry* entry = (const void*)(entries + at);
        int tid = parse_tid(entry->name);
        if (tid != 0 && !visit(tid, context)) {
            return false;
        }
        at += entry->length;
    }
    return true;
}

bool ll_tasks_visit(ll_tasks_visitor* visit, void* context) {
    _Alignas(struct directory_entry) char entries[4096];
    int folder = ll_file_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return false;
    }
    long length;
    do {
        length = ll_syscall(SYS_getdents64, folder, entries, sizeof entries);
    } while (length > 0 && visit_entries(entries, length, visit, context));
    ll_file_close(folder);
    return length >= 0;
}

enum { SELF = 0 };

// Writes "/proc/PROCESS/task/TID/NAME".
static void task_path(char* path, int process, int tid, const char* name) {
    path = ll_append_text(path, "/proc/");
    path = process == SELF ? ll_append_text(path, "self")
                           : ll_append_number(path, (uint64_t)process);
    path = ll_append_number(ll_append_text(path, "/task/"), (uint64_t)tid);
    ll_append_text(ll_append_text(path, "/"), name);
}

// Reads one small file of the thread as a string; its length, or below 0.
static long read_task_file(int process, int tid, const char* name, char* text,
                           size_t capacity) {
    char path[64];
    task_path(path, process, tid, name);
    int file = ll_file_open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return file;
    }
    long length = ll_file_read(file, text, capacity - 1);
    ll_file_close(file);
    text[length > 0 ? length : 0] = '\0';
    return length;
}

static uint64_t parse_hex(const char* text) {
    uint64_t number = 0;
    for (;; text++) {
        char letter = *text;
        if (letter >= '0' && letter <= '9') {
            number = number << 4 | (uint64_t)(letter - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            number = number << 4 | (uint64_t)(letter - 'a' + 10);
        } else {
            return number;
        }
    }
}

// What follows "\nNAME:" and its white space, or "" when there is no such line.
static const char* status_field(const char* status, const char* name) {
    for (; *status != '\0'; status++) {
        if (*status != '\n') {
            continue;
        }
        const char* at = status + 1;
        const char* wanted = name;
        while (*wanted != '\0' && *at == *wanted) {
            at++;
            wanted++;
        }
        if (*wanted == '\0' && *at == ':') {
            for (at++; *at == '\t' || *at == ' '; at++) {
            }
            return at;
        }
    }
    return "";
}

// The file reads "running", or "NR ARG ... SP PC" or "-1 SP PC" in hexadecimal.
bool ll_task_sleep(int process, int tid, struct ll_sleep* sleep) {
    char text[256];
    if (read_task_file(process, tid, "syscall", text, sizeof text) <= 0 ||
        text[0] == 'r') {
        return false;
    }
    const char* last = "";
    const char* before_last = "";
    for (const char* at = text; *at != '\0'; at++) {
        if (at[0] == '0' && at[1] == 'x') {
            before_last = last;
            last = at + 2;
        }
    }
    *sleep = (struct ll_sleep){
        .is_in_call = text[0] != '-',
        .pc = parse_hex(last),
        .stack_pointer = parse_hex(before_last),
    };
    return true;
}

bool ll_task_tells(int process) {
    char text[256];
    return read_task_file(process, process, "syscall", text, sizeof text) > 0;
}

uint64_t ll_task_blocked(int process, int tid) {
    char status[4096];
    bool is_there = read_task_file(process, tid, "status", status, sizeof status) > 0;
    return is_there ? parse_hex(status_field(status, "SigBlk")) : UINT64_MAX;
}

struct ll_task ll_task_inspect(int tid) {
    char status[4096];
    struct ll_sleep sleep = {0};
    struct ll_task task = {0};
    if (read_task_file(SELF, tid, "status", status, sizeof status) > 0) {
        task.state = *status_field(status, "State");
        task.blocked = parse_hex(status_field(status, "SigBlk"));
        (void)ll_task_sleep(SELF, tid, &sleep);
        task.stack_pointer = sleep.stack_pointer;
    }
    return task;
}
