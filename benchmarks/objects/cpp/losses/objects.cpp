// Ways in which objects lose a block.

// An object without a destructor is deleted.
struct plain_ {
    char* held;
};
NOINLINE static void lose_() {
    auto* object = new plain_{block_()};
    KEEP(object);
    take(text(30));
    delete object; // lost: container-freed
}

// An object with a destructor is deleted, which forgets a member.
struct holder_ {
    string beside = text(30);
    char* held = nullptr;
};
NOINLINE static void lose_() {
    auto* object = new holder_;
    object->held = block_();
    KEEP(object);
    delete object; // lost: container-freed
}

// An object with a virtual destructor goes.
struct holder_ final : circle {
    char* held = block_();
    using circle::circle;
};
NOINLINE static void lose_() {
    holder_ object(30);
    KEEP(&object);
    take(object.name());
} // lost: out-of-scope

// An object in a frame is destroyed.
struct holder_ {
    string beside = text(30);
    char* held = nullptr;
};
NOINLINE static void lose_() {
    holder_ object;
    object.held = block_();
    KEEP(&object);
    take(object.beside);
} // lost: out-of-scope

// A member of an object is overwritten by a method.
struct holder_ {
    string beside = text(30);
    char* held = nullptr;
    NOINLINE void clear() {
        held = nullptr; // lost: overwritten
        beside.clear();
    }
};
NOINLINE static void lose_() {
    holder_ object;
    object.held = block_();
    KEEP(&object);
    object.clear();
    take(object.beside);
}

// An assignment of an object takes over, and does not free what was there.
struct holder_ {
    string beside = text(30);
    char* held = nullptr;
    holder_& operator=(holder_&& other) noexcept {
        beside = std::move(other.beside);
        held = other.held; // lost: overwritten
        other.held = nullptr;
        return *this;
    }
};
NOINLINE static void lose_() {
    holder_ object, other;
    object.held = block_();
    KEEP(&object);
    KEEP(&other);
    object = std::move(other);
    KEEP(&object);
    take(object.beside);
}

// An array of objects is deleted.
struct holder_ {
    string beside = text(30);
    char* held = nullptr;
};
NOINLINE static void lose_() {
    auto* all = new holder_[3];
    all[1].held = block_();
    KEEP(all);
    delete[] all; // lost: out-of-scope
}

// An object in a buffer is destroyed.
struct holder_ {
    string beside = text(30);
    char* held = nullptr;
};
NOINLINE static void lose_() {
    alignas(holder_) static char room[sizeof(holder_)];
    auto* object = new (room) holder_;
    object->held = block_();
    KEEP(object);
    object->~holder_(); // lost: out-of-scope
    take(text(30));
}

// A string that nobody deletes.
NOINLINE static string* block_() {
    made[MAKER]++;
    string* fresh = new string("short");
    KEEP(fresh);
    return fresh;
}
NOINLINE static void lose_() {
    string* held = block_();
    KEEP(held);
    held->append("er");
} // lost: out-of-scope

// A thread forgets what it made.
NOINLINE static void lose_() {
    string beside = text(30);
    auto forget = [&beside] {
        char* held = block_();
        KEEP(held);
        look_at(beside);
    }; // lost: out-of-scope
    in_thread(forget);
}

// A temporary object has it.
struct holder_ {
    string beside = text(30);
    char* held = nullptr;
};
NOINLINE static holder_ make_() {
    holder_ fresh;
    fresh.held = block_();
    return fresh;
}
NOINLINE static void lose_() {
    take(make_().beside); // lost: out-of-scope
    take(text(30));
}

// Whole objects that nobody deletes.
NOINLINE static settings* block_() {
    made[MAKER]++;
    auto* fresh = new settings{text(20), {1, 2}};
    KEEP(fresh);
    return fresh;
}
NOINLINE static void lose_() {
    settings* held = block_();
    held->note = text(30);
    KEEP(held);
} // lost: out-of-scope

// An array of objects that nobody deletes.
NOINLINE static string* block_() {
    made[MAKER]++;
    string* fresh = new string[3];
    KEEP(fresh);
    return fresh;
}
NOINLINE static void lose_() {
    string* held = block_();
    held[1] = text(30);
    KEEP(held);
    held = nullptr; // lost: overwritten
    KEEP(held);
}

// A base in the middle is all that is left.
NOINLINE static shape* block_() {
    made[MAKER]++;
    auto* fresh = new dotted;
    KEEP(fresh);
    return fresh;
}
NOINLINE static void lose_() {
    shape* held = block_();
    take(held->name());
    KEEP(held);
} // lost: out-of-scope

// An object is made in the place of another.
struct holder_ {
    char* held;
    explicit holder_(char* given) {
        held = given;
    }
};
NOINLINE static void lose_() {
    alignas(holder_) static char room[sizeof(holder_)];
    auto* object = new (room) holder_(block_());
    KEEP(object);
    take(text(30));
    *object = holder_(nullptr); // lost: overwritten
    KEEP(object);
}
