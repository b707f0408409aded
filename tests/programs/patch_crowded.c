// Takes the addresses where SQLite's library, loaded then, would have most of its
// trampolines, and uses it. The path of the library is the argument.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PIECE_BYTES = 1 << 20, FARTHEST_PIECE = 1700, NEAREST_PIECE = 300 };

static void crowd_below(uintptr_t libraries) {
    for (uintptr_t piece = NEAREST_PIECE; piece < FARTHEST_PIECE; piece++) {
        mmap((void*)(libraries - piece * PIECE_BYTES), PIECE_BYTES, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    }
}

static int print_row(void* context, int count, char** values, char** names) {
    (void)context;
    (void)names;
    for (int i = 0; i < count; i++) {
        printf("%s\n", values[i]);
    }
    return 0;
}

typedef int open_database(const char* name, void** database);
typedef int execute(void* database, const char* text,
                    int (*callback)(void*, int, char**, char**), void* context,
                    char** error);
typedef int close_database(void* database);

static void query(void* library) {
    void* database;
    ((open_database*)dlsym(library, "sqlite3_open"))(":memory:", &database);
    ((execute*)dlsym(library, "sqlite3_exec"))(
        database,
        "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 "
        "from n where i < 500) insert into t select i, hex(i) from n; create index x "
        "on "
        "t(b); select count(*), sum(a), max(b) from t where b > '2' group by a % 3;",
        print_row, NULL, NULL);
    ((close_database*)dlsym(library, "sqlite3_close"))(database);
}

int main(int argc, char** argv) {
    if (argc > 1) {
        crowd_below((uintptr_t)&malloc & -(uintptr_t)PIECE_BYTES);
        void* library = dlopen(argv[1], RTLD_NOW);
        query(library);
        dlclose(library);
    }
    return 0;
}
