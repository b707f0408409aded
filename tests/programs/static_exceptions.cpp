// C++: new and delete, destructors, and exceptions that skip a release.
#include <memory>

static void check(int n) {
    if (n > 2) {
        throw 5;
    }
}

struct Problem {
    int code;
};

static void check_more(int n) {
    if (n > 2) {
        throw Problem{n};
    }
}

int may_throw(int n);

void ignored_new_bad() {
    int* number = new int(5);
    *number = 6;
}

void array_on_early_return_bad(int n) {
    char* text = new char[33];
    if (n) {
        return;
    }
    delete[] text;
}

int thrown_past_bad(int n) {
    char* text = new char[4];
    if (n > 3) {
        throw n;
    }
    delete[] text;
    return 0;
}

int thrown_in_callee_bad(int n) {
    char* text = new char[4];
    check(n);
    delete[] text;
    return 0;
}

int checked_before_new_ok(int n) {
    check(n);
    char* text = new char[4];
    delete[] text;
    return 0;
}

int caught_and_deleted_ok(int n) {
    char* text = new char[4];
    try {
        check(n);
    } catch (...) {
        delete[] text;
        return 1;
    }
    delete[] text;
    return 0;
}

int caught_and_forgotten_bad(int n) {
    char* text = new char[4];
    try {
        check(n);
    } catch (int) {
        return 1;
    }
    delete[] text;
    return 0;
}

int handler_of_other_type_ok(int n) {
    char* text = new char[4];
    try {
        check(n);
    } catch (long) {
        return 1;
    } catch (int) {
        delete[] text;
        return 2;
    }
    delete[] text;
    return 0;
}

int deleted_and_thrown_again_ok(int n) {
    char* text = new char[4];
    try {
        check_more(n);
    } catch (const Problem&) {
        delete[] text;
        throw;
    }
    delete[] text;
    return 0;
}

class Buffer {
  public:
    explicit Buffer(int n) : bytes_(new char[n]) {
    }
    ~Buffer() {
        delete[] bytes_;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    char first() const {
        return bytes_[0];
    }

  private:
    char* bytes_;
};

int destructor_deletes_ok(int n) {
    Buffer buffer(8);
    check(n);
    return buffer.first();
}

int unique_pointer_ok(int n) {
    auto buffer = std::make_unique<Buffer>(8);
    check_more(n);
    return buffer->first();
}

int released_pointer_bad(int n) {
    auto buffer = std::make_unique<Buffer>(8);
    Buffer* raw = buffer.release();
    if (n > 7) {
        return -1;
    }
    delete raw;
    return 0;
}

// Functions without source are taken not to throw.
int FN_thrown_without_source_bad(int n) {
    char* text = new char[4];
    int result = may_throw(n);
    delete[] text;
    return result;
}
