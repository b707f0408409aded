// Ways in which containers and owners lose a block.

// A pointer is released, and the result dropped.
NOINLINE static std::unique_ptr<char[]> owner_() {
    return std::unique_ptr<char[]>(block_());
}
NOINLINE static void lose_() {
    auto owner = owner_();
    KEEP(&owner);
    owner.release(); // lost: never-stored
    take(text(30));
}

// A vector of pointers goes.
NOINLINE static void lose_() {
    std::vector<char*> all;
    all.push_back(block_());
    KEEP(&all);
    take(text(30));
} // lost inside: container-freed

// An element of a vector of objects goes.
struct holder_ {
    string beside = text(30);
    char* held = nullptr;
};
NOINLINE static void lose_() {
    std::vector<holder_> all(2);
    all[1].held = block_();
    KEEP(&all);
    all.pop_back(); // lost inside: out-of-scope
    take(all[0].beside);
}

// A table of pointers loses an entry.
static std::map<string, char*> table_;
NOINLINE static void lose_() {
    table_[text(30)] = block_();
    take(text(30));
    table_.erase(text(30)); // lost inside: out-of-scope
}

// A value of a table is replaced.
static std::unordered_map<string, char*> table_;
NOINLINE static void lose_() {
    table_[text(30)] = block_();
    take(text(30));
    table_[text(30)] = nullptr; // lost: overwritten
}

// The value of an optional goes.
struct holder_ {
    string beside = text(30);
    char* held = nullptr;
};
NOINLINE static void lose_() {
    std::optional<holder_> maybe(std::in_place);
    maybe->held = block_();
    KEEP(&maybe);
    maybe.reset(); // lost inside: out-of-scope
    take(text(30));
}

// A node of a list goes with a pointer.
static std::list<std::pair<string, char*>> queue_;
NOINLINE static void lose_() {
    queue_.emplace_back(text(30), block_());
    take(queue_.back().first);
    queue_.pop_front(); // lost inside: out-of-scope
}

// A function object goes that had copied a pointer.
NOINLINE static void lose_() {
    std::function<void()> later = [held = block_(), room = std::array<int, 9>()] {
        KEEP(held + room[2]);
    };
    later();
} // lost inside: container-freed

// Owners own each other.
struct ring_ {
    string beside = text(30);
    std::shared_ptr<ring_> next;
};
NOINLINE static std::shared_ptr<ring_> block_() {
    made[MAKER]++;
    auto first = std::make_shared<ring_>();
    first->beside = "short";
    first->next = first;
    return first;
}
NOINLINE static void lose_() {
    auto ring = block_();
    KEEP(&ring);
    take(text(30));
} // lost: out-of-scope

// The parts of a pair end.
NOINLINE static void lose_() {
    auto [word, held] = std::make_pair(text(30), block_());
    KEEP(&held);
    take(word);
} // lost: out-of-scope

// A table in a frame ends.
NOINLINE static void lose_() {
    std::array<char*, 3> table{nullptr, block_()};
    KEEP(&table);
    take(text(30));
} // lost: out-of-scope

// A tuple ends.
NOINLINE static void lose_() {
    std::tuple<string, char*, numbers> all(text(30), block_(), row(4));
    KEEP(&all);
    take(std::get<0>(all));
} // lost: out-of-scope

// An element of a vector of pointers is overwritten.
NOINLINE static void lose_() {
    std::vector<char*> all(4, nullptr);
    all[2] = block_();
    KEEP(&all);
    take(text(30));
    all[2] = nullptr; // lost: overwritten
    KEEP(&all);
}

// An element of a vector of pointers is erased.
NOINLINE static void lose_() {
    static char one;
    std::vector<char*> all(4, &one);
    all[2] = block_();
    KEEP(&all);
    take(text(30));
    all.erase(all.begin() + 2); // lost inside: overwritten
    take(text(30));
}

// A vector of pointers is replaced.
NOINLINE static void lose_() {
    std::vector<char*> all(4, nullptr);
    all[2] = block_();
    KEEP(&all);
    take(text(30));
    all = std::vector<char*>(2, nullptr); // lost inside: container-freed
    take(text(30));
}

// A set of pointers goes.
NOINLINE static void lose_() {
    std::set<char*> all{block_()};
    KEEP(&all);
    take(text(30));
} // lost inside: container-freed

// A shared object goes.
struct holder_ {
    string beside = text(30);
    char* held = nullptr;
};
NOINLINE static void lose_() {
    auto object = std::make_shared<holder_>();
    object->held = block_();
    KEEP(&object);
    take(text(30));
    object.reset(); // lost inside: out-of-scope
    take(text(30));
}

// An owned object goes.
struct holder_ {
    string beside = text(30);
    char* held = nullptr;
};
NOINLINE static void lose_() {
    auto object = std::make_unique<holder_>();
    object->held = block_();
    KEEP(&object);
    take(text(30));
    object = nullptr; // lost inside: container-freed
    take(text(30));
}

// A variant gets another object.
struct holder_ {
    string beside = text(30);
    char* held = nullptr;
};
NOINLINE static void lose_() {
    std::variant<int, holder_, string> either = holder_();
    std::get<holder_>(either).held = block_();
    KEEP(&either);
    take(text(30));
    either = text(20); // lost inside: out-of-scope
    take(text(30));
}

// An array is filled.
static char* table_[5];
NOINLINE static void lose_() {
    table_[3] = block_();
    take(text(30));
    std::fill_n(table_, 5, nullptr); // lost inside: overwritten
    take(text(30));
}
