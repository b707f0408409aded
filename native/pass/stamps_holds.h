// Who else holds what a variable of a function holds, as far as is known at some place.
#pragma once
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

// By the number of the variable. Of those that surely hold the same, the first stands
// for the others.
using State = std::vector<Hold>;

// What is known where two ways meet.
State join(const State& a, const State& b);

} // namespace leakline
