#include "stamps_holds.h"

#include <optional>

namespace leakline {

namespace {

// The variable that stands for all which surely hold the same as this one.
unsigned first_of_same(const State& state, unsigned variable) {
    while (is_exact(state[variable])) {
        variable = holder_of(state[variable]);
    }
    return variable;
}

bool hold_same(const State& state, unsigned one, unsigned other) {
    return first_of_same(state, one) == first_of_same(state, other) ||
           (state[one] == nothing && state[other] == nothing);
}

// The first variable before this one that holds the same on both ways.
std::optional<unsigned> same_on_both(const State& a, const State& b,
                                     unsigned variable) {
    for (unsigned i = 0; i < variable; i++) {
        if (hold_same(a, i, variable) && hold_same(b, i, variable)) {
            return i;
        }
    }
    return std::nullopt;
}

// What a state knows of a variable that holds `other` in another state. Two that hold
// nothing hold the same.
Hold seen_from(const State& state, unsigned variable, Hold other) {
    bool is_same = state[variable] == nothing && other >= shared &&
                   state[holder_of(other)] == nothing;
    return is_same ? other : state[variable];
}

} // namespace

Hold join(Hold a, Hold b) {
    if (a == b) {
        return a;
    }
    if (a == nothing || b == nothing || or_null(a) == or_null(b)) {
        return or_null(a == nothing ? b : a);
    }
    return a < alone && b < alone ? memory : alone;
}

State join(const State& a, const State& b) {
    State joined;
    joined.reserve(a.size());
    for (unsigned i = 0; i < a.size(); i++) {
        Hold hold = join(seen_from(a, i, b[i]), seen_from(b, i, a[i]));
        if (!is_exact(hold) && (is_exact(a[i]) || is_exact(b[i]))) {
            std::optional<unsigned> same = same_on_both(a, b, i);
            hold = same ? held_by(*same) : hold;
        }
        joined.push_back(hold);
    }
    return joined;
}

} // namespace leakline
