// Ways in which variables lose a block. Each begins with a comment and has the
// functions `lose_` and maybe `block_`, which makes what is lost. The line that loses
// it ends with its cause; `inside` means that a function of the library does it which
// is called there.

// A scope ends.
NOINLINE static void lose_() {
    char* held = block_();
    KEEP(held);
} // lost: out-of-scope

// A return in the middle.
NOINLINE static int lose_() {
    char* held = block_();
    KEEP(held);
    if (held != nullptr) {
        return 1; // lost: out-of-scope
    }
    free(held);
    return 0;
}

// A variable becomes null.
NOINLINE static void lose_() {
    char* held = block_();
    KEEP(held);
    held = nullptr; // lost: overwritten
    KEEP(held);
}

// A variable gets another block.
NOINLINE static void lose_() {
    char* held = block_();
    KEEP(held);
    held = (char*)malloc(30); // lost: overwritten
    KEEP(held);
    free(held);
}

// A loop is left.
NOINLINE static void lose_() {
    for (int turn = 0; turn < 3; turn++) {
        char* held = turn == 1 ? block_() : nullptr;
        KEEP(held);
        if (turn == 1) {
            break; // lost: out-of-scope
        }
        take(text(30));
    }
    take(text(20));
}

// The next turn of a loop begins.
NOINLINE static void lose_() {
    for (int turn = 0; turn < 3; turn++) {
        char* held = turn == 1 ? block_() : nullptr;
        KEEP(held);
        if (turn == 1) {
            continue; // lost: out-of-scope
        }
        free(held);
        take(text(30));
    }
}

// A jump leaves two scopes with objects.
NOINLINE static void lose_() {
    {
        string outer = text(30);
        {
            char* held = block_();
            string inner = text(40);
            KEEP(held);
            if (inner.size() > outer.size()) {
                goto out; // lost: out-of-scope
            }
            free(held);
        }
        look_at(outer);
    }
out:
    take(text(25));
}

// A result is dropped.
NOINLINE static void lose_() {
    block_(); // lost: never-stored
    take(text(30));
}

// A result is only looked at.
NOINLINE static void lose_() {
    KEEP(block_()); // lost: never-stored
}

// A result is passed on, and its result dropped.
NOINLINE static char* pass_(char* given) {
    KEEP(given);
    return given;
}
NOINLINE static void lose_() {
    pass_(block_()); // lost: never-stored
    take(text(30));
}

// A function gets it and forgets it.
NOINLINE static void forget_(char* given, string beside) {
    KEEP(given);
    take(std::move(beside));
}
NOINLINE static void lose_() {
    forget_(block_(), text(40)); // lost: never-stored
}

// A closure changes a variable by reference.
NOINLINE static void lose_() {
    char* held = block_();
    KEEP(&held);
    auto clear = [&held](string reason) {
        look_at(reason);
        held = nullptr; // lost: overwritten
    };
    clear(text(50));
    KEEP(&held);
}

// A function changes a variable by reference.
NOINLINE static void clear_(char*& held) {
    held = nullptr; // lost: overwritten
}
NOINLINE static void lose_() {
    char* held = block_();
    KEEP(&held);
    clear_(held);
    take(text(30));
}

// A number is all that refers to it.
NOINLINE static void lose_() {
    auto number = (uintptr_t)block_();
    KEEP(number);
    number = 7; // lost: overwritten
    KEEP(number);
}

// A pointer inside is all that is left.
NOINLINE static void lose_() {
    char* held = block_();
    KEEP(held);
    char* inside = held + 9;
    held = nullptr;
    KEEP(inside);
    take(text(30));
    inside = nullptr; // lost: overwritten
    KEEP(inside);
}

// The variable that a closure has copied ends with it.
NOINLINE static void lose_() {
    auto closure = [held = block_()](string beside) {
        KEEP(held);
        take(std::move(beside));
    };
    closure(text(40));
} // lost: out-of-scope

// A closure ends.
NOINLINE static void lose_() {
    auto closure = [](string beside) {
        char* held = block_();
        KEEP(held);
        look_at(beside);
    }; // lost: out-of-scope
    closure(text(40));
}

// Two variables are swapped, and one ends.
static char* other_;
NOINLINE static void lose_() {
    other_ = block_();
    take(text(30));
    {
        char* local = nullptr;
        std::swap(local, other_);
        look_at(text(20));
    } // lost: out-of-scope
    take(text(30));
}

// A pointer is exchanged, and the result dropped.
static char* held_;
NOINLINE static void lose_() {
    held_ = block_();
    take(text(30));
    std::exchange(held_, nullptr); // lost: never-stored
    take(text(30));
}

// A recursion returns.
NOINLINE static void descend_(int depth) {
    char* held = depth == 1 ? block_() : nullptr;
    string beside = text(20 + depth);
    KEEP(held);
    if (depth < 3) {
        descend_(depth + 1);
    }
    look_at(beside);
} // lost: out-of-scope
NOINLINE static void lose_() {
    descend_(0);
}

// A structure ends with the turn of a loop.
NOINLINE static void lose_() {
    for (int turn = 0; turn < 3; turn++) {
        record local{};
        if (turn == 1) {
            local.name = block_();
        }
        KEEP(&local);
        take(text(30));
    } // lost: out-of-scope
    take(text(30));
}

// An argument of many is dropped.
NOINLINE static void ignore_(int count, ...) {
    sum += count;
}
NOINLINE static void lose_() {
    ignore_(3, "first", block_(), "last"); // lost: never-stored
    take(text(30));
}

// Another name of a pointer writes.
NOINLINE static void lose_() {
    char* held = block_();
    char*& other = held;
    KEEP(&held);
    take(text(30));
    other = nullptr; // lost: overwritten
    KEEP(&held);
}

// The last return makes an object.
NOINLINE static string hold_(int length) {
    char* held = block_();
    KEEP(held);
    return text(length) + text(30); // lost: out-of-scope
}
NOINLINE static void lose_() {
    take(hold_(50));
}

// The last return gives one of two objects.
NOINLINE static string hold_(int length) {
    string beside = text(length);
    char* held = block_();
    KEEP(held);
    return length % 2 == 0 ? beside + "even" : text(length); // lost: out-of-scope
}
NOINLINE static void lose_() {
    take(hold_(50));
    sum++;
}

// The last return gives a variable.
NOINLINE static numbers hold_(int length) {
    numbers result = row(length);
    char* held = block_();
    KEEP(held);
    result.push_back(length);
    return result; // lost: out-of-scope
}
NOINLINE static void lose_() {
    count(hold_(50));
}

// A condition declares it.
NOINLINE static void lose_() {
    if (char* held = block_()) {
        KEEP(held);
        sum++;
    } // lost: out-of-scope
    sum++;
}

// It lies where a variable points that was deleted.
NOINLINE static void hold_() {
    char* held = block_();
    held = nullptr; // lost: overwritten
    KEEP(held);
}
NOINLINE static void lose_() {
    char* bytes = new char[SIZE];
    KEEP(bytes);
    delete[] bytes;
    hold_();
    sum++;
}

// It lies where a variable points whose object a function freed.
NOINLINE static void destroy_(char* bytes) {
    if (sum != 42) {
        free(bytes);
    }
}
NOINLINE static void hold_() {
    char* held = block_();
    held = nullptr; // lost: overwritten
    KEEP(held);
}
NOINLINE static void lose_() {
    char* bytes = (char*)malloc(SIZE);
    KEEP(bytes);
    destroy_(bytes);
    hold_();
    sum++;
}

// It lies where a member of a structure points that was emptied.
NOINLINE static void hold_() {
    char* held = block_();
    held = nullptr; // lost: overwritten
    KEEP(held);
}
NOINLINE static void lose_() {
    record local;
    local.values = nullptr;
    local.name = (char*)malloc(SIZE);
    KEEP(&local);
    empty(&local);
    hold_();
    sum++;
}
