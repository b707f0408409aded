// Ways in which exceptions lose a block, and those who handle them.

// A constructor fails that had made a member.
struct fragile_ {
    string beside = text(30);
    char* held = nullptr;
    NOINLINE explicit fragile_(int length) {
        held = block_();
        KEEP(this);
        fail_if_odd(length);
    }
};
NOINLINE static void lose_() {
    try {
        delete new fragile_(21); // lost: container-freed
    } catch (const std::exception& error) {
        take(error.what());
    }
}

// An exception of a callee passes.
NOINLINE static void hold_() {
    char* held = block_();
    KEEP(held);
    fail_if_odd(21); // lost: out-of-scope
    free(held);
}
NOINLINE static void lose_() {
    try {
        hold_();
    } catch (const std::runtime_error& error) {
        take(error.what());
    }
}

// An exception of a callee passes beside objects.
NOINLINE static void hold_() {
    string before = text(30);
    char* held = block_();
    KEEP(held);
    fail_if_odd(21); // lost: out-of-scope
    free(held);
    look_at(before);
}
NOINLINE static void lose_() {
    try {
        hold_();
    } catch (const std::runtime_error& error) {
        take(error.what());
    }
}

// A handler replaces what the block outside had.
NOINLINE static void lose_() {
    char* held = block_();
    try {
        KEEP(held);
        fail_if_odd(23);
    } catch (const std::exception& error) {
        held = nullptr; // lost: overwritten
        take(error.what());
    }
    free(held);
}

// A handler ends.
NOINLINE static void lose_() {
    try {
        fail_if_odd(23);
    } catch (const std::exception& error) {
        char* held = block_();
        KEEP(held);
        take(error.what());
    } // lost: out-of-scope
}

// An exception goes that has a member.
struct failure_ : std::runtime_error {
    char* held = nullptr;
    using std::runtime_error::runtime_error;
};
NOINLINE static void fail_() {
    failure_ failure(text(30));
    failure.held = block_();
    throw failure;
}
NOINLINE static void lose_() {
    try {
        fail_();
    } catch (const failure_& failure) {
        take(failure.what());
    } // lost: container-freed
    take(text(30));
}

// A guard at the end of a scope clears it.
NOINLINE static void lose_() {
    char* held = block_();
    KEEP(&held);
    at_end guard{[&held] {
        held = nullptr; // lost: overwritten
    }};
    take(text(30));
}

// A guard clears it while an exception passes.
NOINLINE static void lose_() {
    char* held = block_();
    KEEP(&held);
    try {
        at_end guard{[&held] {
            held = nullptr; // lost: overwritten
        }};
        fail_if_odd(31);
    } catch (const std::runtime_error& error) {
        take(error.what());
    }
    KEEP(&held);
}

// A throw in the function itself passes objects.
NOINLINE static void hold_() {
    string before = text(30);
    char* held = block_();
    KEEP(held);
    if (sum != 42) {
        throw std::runtime_error(before + text(60)); // lost: out-of-scope
    }
    free(held);
}
NOINLINE static void lose_() {
    try {
        hold_();
    } catch (const std::runtime_error& error) {
        take(error.what());
    }
}

// The second of several calls throws, inside of a scope with objects.
NOINLINE static void hold_() {
    string before = text(30);
    char* held = block_();
    KEEP(held);
    for (const string& each : {text(40), text(50)}) {
        string inside = each + text(60);
        fail_if_odd(20);
        fail_if_odd((int)inside.size() + 1); // lost: out-of-scope
        look_at(inside);
    }
    fail_if_odd(22);
    free(held);
}
NOINLINE static void lose_() {
    try {
        hold_();
    } catch (const std::runtime_error& error) {
        take(error.what());
    }
}

// A throw is caught in the same function.
NOINLINE static void lose_() {
    try {
        string beside = text(41);
        char* held = block_();
        KEEP(held);
        fail_if_odd(20);
        if (sum != 42) {
            throw beside.size(); // lost: out-of-scope
        }
        free(held);
    } catch (size_t size) {
        sum += (long)size;
    }
}

// A handler throws on.
NOINLINE static void hold_() {
    char* held = block_();
    KEEP(held);
    try {
        fail_if_odd(21);
    } catch (const std::exception& error) {
        look_over(error.what());
        throw; // lost: out-of-scope
    }
    free(held);
}
NOINLINE static void lose_() {
    try {
        hold_();
    } catch (const std::runtime_error& error) {
        take(error.what());
    }
}

// A structure holds it in a function that an exception passes.
NOINLINE static void hold_(int length) {
    record local;
    local.values = nullptr;
    local.name = block_();
    KEEP(&local);
    fail_if_odd(20);
    fail_if_odd(length + 1); // lost: out-of-scope
    free(local.name);
}
NOINLINE static void lose_() {
    try {
        hold_(30);
    } catch (const std::runtime_error& error) {
        take(error.what());
    }
}

// The address of the variable is known, in a scope of its own between others.
NOINLINE static void hold_() {
    for (int turn = 0; turn < 2; turn++) {
        char* before[4] = {};
        KEEP(before);
        fail_if_odd(20);
    }
    {
        char* held = block_();
        KEEP(&held);
        fail_if_odd(21); // lost: out-of-scope
        free(held);
    }
    string behind = text(40);
    take(behind);
}
NOINLINE static void lose_() {
    try {
        hold_();
    } catch (const std::runtime_error& error) {
        take(error.what());
    }
}
