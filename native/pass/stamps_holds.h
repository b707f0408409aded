// Who else holds what a variable of a function holds, as far as is known at some place.
#pragma once
#include <cstddef>
#include <limits>
#include <vector>

namespace leakline {

// What is known of the value of a variable. From `shared` on: which other variable
// holds the same, and whether this one may be null instead.
using Hold = unsigned;
inline constexpr Hold nothing = 0; // null, or no pointer to the heap
inline constexpr Hold caller = 1;  // the function's caller holds it, or will
inline constexpr Hold memory =
    2; // some memory holds it since it was read or written there
inline constexpr Hold alone = 3; // nobody else may hold it
inline constexpr Hold shared = 4;

inline Hold held_by(unsigned variable) {
    return shared + 2 * variable;
}

inline Hold null_or_held_by(unsigned variable) {
    return held_by(variable) + 1;
}

// The same, but null is possible, too.
inline Hold or_null(Hold hold) {
    return hold < shared ? hold : hold | 1;
}

// True when another variable surely holds the same.
inline bool is_exact(Hold hold) {
    return hold >= shared && hold != or_null(hold);
}

// The other variable, from `shared` on.
inline unsigned holder_of(Hold hold) {
    return (hold - shared) / 2;
}

// What is known of a value that is one or the other.
Hold join(Hold a, Hold b);

// On some way to a place, somebody else holds what a variable holds, although on
// another way it may hold it alone. Only the run can tell which way was taken.
struct Cover {
    unsigned variable;
    unsigned holder; // another variable, or one of those below

    bool operator==(const Cover& other) const {
        return variable == other.variable && holder == other.holder;
    }
};

inline constexpr unsigned by_memory = std::numeric_limits<unsigned>::max();
inline constexpr unsigned for_good = by_memory - 1; // it cannot be lost meanwhile

// By the number of the variable. Of those that surely hold the same, the first stands
// for the others.
class State {
  public:
    State() = default;
    explicit State(size_t variables) : holds_(variables, nothing) {
    }

    size_t size() const {
        return holds_.size();
    }

    Hold operator[](unsigned variable) const {
        return holds_[variable];
    }

    const std::vector<Hold>& holds() const {
        return holds_;
    }

    void set(unsigned variable, Hold hold);

    // True when a variable holds its value alone on some ways only.
    bool is_alone_sometimes(unsigned variable) const;

    // True when on some way `holder` holds what a variable holds.
    bool is_covered(unsigned variable, unsigned holder) const;

    // What is known of `variable` is known of `heir` from now on.
    void inherit(unsigned heir, unsigned variable);

    // What `holder` held on some way, `other` does from now on.
    void replace_holder(unsigned holder, unsigned other);

    bool operator!=(const State& other) const {
        return holds_ != other.holds_ || !(covers_ == other.covers_);
    }

    // What is known where two ways meet.
    friend State join(const State& a, const State& b);

  private:
    void add_covers(const State& state, unsigned variable);
    void put_covers_in_order();

    std::vector<Hold> holds_;
    std::vector<Cover> covers_; // in order
};

} // namespace leakline
