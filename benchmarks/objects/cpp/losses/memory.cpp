// Ways in which globals, members, elements and C structures lose a block.

// A global is overwritten.
static char* global_;
NOINLINE static void lose_() {
    global_ = block_();
    take(text(30));
    global_ = nullptr; // lost: overwritten
}

// A static variable of a function gets the next block.
NOINLINE static void lose_() {
    static char* kept;
    for (int turn = 0; turn < 2; turn++) {
        char* next = turn == 0 ? block_() : nullptr;
        take(text(30));
        kept = next; // lost: overwritten
    }
}

// A variable of the thread is overwritten.
static thread_local char* own_;
NOINLINE static void lose_() {
    own_ = block_();
    take(text(30));
    own_ = nullptr; // lost: overwritten
}

// A member of a global structure is overwritten.
static record slot_;
NOINLINE static void lose_() {
    slot_.name = block_();
    take(text(30));
    slot_.name = nullptr; // lost: overwritten
}

// A structure is assigned.
static record slot_;
NOINLINE static void lose_() {
    slot_.values = (int*)block_();
    take(text(30));
    slot_ = record(); // lost: overwritten
}

// A structure is cleared.
NOINLINE static void lose_() {
    {
        record local;
        fill(&local, 20);
        free(local.name);
        local.name = block_();
        KEEP(&local);
        free(std::exchange(local.values, nullptr));
        memset(&local, 0, sizeof local); // lost: overwritten
        KEEP(&local);
    }
}

// A structure is copied over.
NOINLINE static void lose_() {
    record first{}, second{};
    first.name = block_();
    KEEP(&first);
    KEEP(&second);
    memcpy(&first, &second, sizeof first); // lost: overwritten
    KEEP(&first);
    take(text(30));
}

// A structure in a frame ends.
NOINLINE static void lose_() {
    record local{};
    local.name = block_();
    KEEP(&local);
    take(text(30));
} // lost: out-of-scope

// A node of a list is cut off and freed.
NOINLINE static void lose_() {
    link* first = (link*)malloc(sizeof *first);
    *first = {nullptr, block_()};
    KEEP(first);
    take(text(30));
    free(first); // lost: container-freed
}

// An array of pointers is freed.
NOINLINE static void lose_() {
    char** words = (char**)calloc(5, sizeof *words);
    words[3] = block_();
    words[4] = strdup("freed");
    KEEP(words);
    free(words[4]);
    free(words); // lost: container-freed
    take(text(30));
}

// An array of pointers shrinks.
NOINLINE static void lose_() {
    char** words = (char**)calloc(12, sizeof *words);
    words[9] = block_();
    KEEP(words);
    words = (char**)realloc(words, 3 * sizeof *words); // lost: container-freed
    KEEP(words);
    free(words);
}

// An element of an array is overwritten.
NOINLINE static void lose_() {
    char* words[4] = {strdup("first"), block_()};
    KEEP(words);
    take(text(30));
    words[1] = nullptr; // lost: overwritten
    free(words[0]);
    words[0] = nullptr;
    KEEP(words);
}

// A function of the library replaces it.
NOINLINE static void lose_() {
    char* word = block_();
    KEEP(word);
    if (asprintf(&word, "%s", text(40).c_str()) < 0) { // lost: overwritten
        abort();
    }
    free(word);
}

// An atomic exchange takes it.
static std::atomic<char*> shared_;
NOINLINE static void lose_() {
    shared_ = block_();
    take(text(30));
    __atomic_store_n((char**)&shared_, nullptr, __ATOMIC_RELEASE); // lost: overwritten
}

// A union gets another member.
NOINLINE static void lose_() {
    static union {
        char* pointer;
        long number;
    } either;
    either.pointer = block_();
    KEEP(&either);
    take(text(30));
    either.number = 3; // lost: overwritten
    KEEP(&either);
}

// A static member of a class is overwritten.
struct registry_ {
    static inline char* last;
};
NOINLINE static void lose_() {
    registry_::last = block_();
    take(text(30));
    registry_::last = nullptr; // lost: overwritten
}

// A function of the library puts a line in its place.
NOINLINE static void lose_() {
    {
        string content = text(30);
        FILE* file = fmemopen(content.data(), content.size(), "r");
        char* line = block_();
        size_t room = 0;
        if (getline(&line, &room, file) < 0) { // lost: overwritten
            abort();
        }
        free(line);
        fclose(file);
    }
}

// An atomic exchange drops the old value.
static std::atomic<char*> held_;
NOINLINE static void lose_() {
    held_ = block_();
    take(text(30));
    held_.exchange(nullptr); // lost: never-stored
    take(text(30));
}

// A pointer to a member writes.
NOINLINE static void lose_() {
    static record target;
    char* record::* name = &record::name;
    KEEP(&name);
    target.*name = block_();
    take(text(30));
    target.*name = nullptr; // lost: overwritten
}

// A link is skipped.
NOINLINE static link* block_() {
    made[MAKER]++;
    link* fresh = (link*)calloc(1, sizeof *fresh);
    KEEP(fresh);
    return fresh;
}
NOINLINE static void lose_() {
    link* first = chain(3);
    block_()->next = nullptr; // lost: never-stored
    unchain(first);
}

// A link is cut off the end.
NOINLINE static link* block_() {
    made[MAKER]++;
    link* fresh = (link*)calloc(1, sizeof *fresh);
    KEEP(fresh);
    return fresh;
}
NOINLINE static void lose_() {
    link* first = chain(1);
    first->next = block_();
    KEEP(first);
    take(text(30));
    first->next = nullptr; // lost: overwritten
    unchain(first);
}
