// Classes and C structures that the noise makes objects of.

// A record of a C library: the caller empties it.
struct record {
    char* name;
    int* values;
    size_t count;
};

NOINLINE static void fill(record* target, int length) {
    target->name = strdup(text(length).c_str());
    target->values = (int*)calloc((size_t)length, sizeof *target->values);
    target->count = (size_t)length;
}

NOINLINE static void empty(record* target) {
    free(target->values);
    free(target->name);
}

NOINLINE static record filled(int length) {
    record result;
    fill(&result, length);
    return result;
}

// A list as C programs link it.
struct link {
    link* next;
    char* word;
};

NOINLINE static link* chain(int length) {
    link* first = nullptr;
    for (int number = 0; number < length; number++) {
        link* added = (link*)malloc(sizeof *added);
        *added = {first, strdup(text(length + number).c_str())};
        first = added;
    }
    return first;
}

NOINLINE static link* reversed(link* rest) {
    link* turned = nullptr;
    while (rest != nullptr) {
        link* next = rest->next;
        rest->next = turned;
        turned = rest;
        rest = next;
    }
    return turned;
}

NOINLINE static void unchain(link* first) {
    while (first != nullptr) {
        link* next = first->next;
        free(first->word);
        free(first);
        first = next;
    }
}

NOINLINE static int by_words(const void* first, const void* second) {
    return strcmp(*(char* const*)first, *(char* const*)second);
}

struct shape {
    virtual ~shape() = default;
    virtual string name() const {
        return "shape";
    }
};

struct circle : shape {
    string label;
    explicit circle(int length) : label(text(length)) {
    }
    string name() const override {
        return label + "!";
    }
};

struct coloured {
    string colour = text(33);
    virtual ~coloured() = default;
};

struct dotted : virtual coloured, virtual shape {
    std::unique_ptr<string> dots = owned(21);
    string name() const override {
        return colour + *dots;
    }
};

struct badge final : circle, dotted {
    numbers edges = row(9);
    explicit badge(int length) : circle(length) {
    }
    string name() const override {
        return circle::name() + dotted::name();
    }
};

NOINLINE static std::unique_ptr<shape> draw(int length) {
    if (length % 2 != 0) {
        return std::make_unique<circle>(length);
    }
    return std::make_unique<shape>();
}

struct tree {
    string name;
    std::vector<std::unique_ptr<tree>> children;
};

NOINLINE static std::unique_ptr<tree> grow(int depth, int length) {
    auto node = std::make_unique<tree>();
    node->name = text(length);
    for (int child = 0; child < depth; child++) {
        node->children.push_back(grow(depth - 1, length + child));
    }
    return node;
}

struct at_end {
    std::function<void()> action;
    ~at_end() {
        if (action) {
            action();
        }
    }
};

// Manages its memory by the rule of five, without any class of the library.
class buffer {
    char* bytes = nullptr;
    size_t length = 0;

  public:
    explicit buffer(int wanted) : bytes(new char[(size_t)wanted]()), length(wanted) {
    }
    buffer(const buffer& other) : bytes(new char[other.length]), length(other.length) {
        memcpy(bytes, other.bytes, length);
    }
    buffer(buffer&& other) noexcept
        : bytes(std::exchange(other.bytes, nullptr)),
          length(std::exchange(other.length, 0)) {
    }
    buffer& operator=(buffer other) noexcept {
        std::swap(bytes, other.bytes);
        std::swap(length, other.length);
        return *this;
    }
    ~buffer() {
        delete[] bytes;
    }
    buffer operator+(const buffer& other) const {
        buffer joined((int)(length + other.length));
        memcpy(joined.bytes, bytes, length);
        memcpy(joined.bytes + length, other.bytes, other.length);
        return joined;
    }
    size_t size() const {
        return length;
    }
};

// Counts its references inside of the object, as older programs do.
class counted {
    int references = 0;
    string content;

  public:
    explicit counted(int length) : content(text(length)) {
    }
    NOINLINE void retain() {
        references++;
    }
    NOINLINE void release() {
        if (--references == 0) {
            delete this;
        }
    }
    size_t size() const {
        return content.size();
    }
};

class handle_of_counted {
    counted* target;

  public:
    explicit handle_of_counted(counted* pointed) : target(pointed) {
        target->retain();
    }
    handle_of_counted(const handle_of_counted& other)
        : handle_of_counted(other.target) {
    }
    handle_of_counted& operator=(const handle_of_counted& other) {
        other.target->retain();
        target->release();
        target = other.target;
        return *this;
    }
    ~handle_of_counted() {
        target->release();
    }
    counted* operator->() const {
        return target;
    }
};

// A function with state that can only be moved, which std::function does not take.
class task {
    struct callable {
        virtual ~callable() = default;
        virtual int call() = 0;
    };
    template <class Function> struct holding final : callable {
        Function function;
        explicit holding(Function&& source) : function(std::move(source)) {
        }
        int call() override {
            return function();
        }
    };
    std::unique_ptr<callable> target;

  public:
    template <class Function>
    explicit task(Function function)
        : target(std::make_unique<holding<Function>>(std::move(function))) {
    }
    int operator()() {
        return target->call();
    }
};

// A union whose owner knows which member lives.
struct word_or_row {
    enum { word, values } kind;
    union {
        string as_word;
        numbers as_row;
    };
    explicit word_or_row(int length) {
        if (length % 2 != 0) {
            kind = word;
            new (&as_word) string(text(length));
        } else {
            kind = values;
            new (&as_row) numbers(row(length));
        }
    }
    word_or_row(const word_or_row&) = delete;
    word_or_row& operator=(const word_or_row&) = delete;
    ~word_or_row() {
        if (kind == word) {
            as_word.~basic_string();
        } else {
            as_row.~vector();
        }
    }
    size_t size() const {
        return kind == word ? as_word.size() : as_row.size();
    }
};

struct settings {
    string title = text(28);
    numbers limits = row(6);
    std::optional<string> note;
};
