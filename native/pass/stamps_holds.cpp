#include "stamps_holds.h"

#include <algorithm>
#include <optional>
#include <tuple>

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

void State::set(unsigned variable, Hold hold) {
    holds_[variable] = hold;
    auto is_its_own = [&](const Cover& cover) { return cover.variable == variable; };
    covers_.erase(std::remove_if(covers_.begin(), covers_.end(), is_its_own),
                  covers_.end());
}

bool State::is_alone_sometimes(unsigned variable) const {
    return std::any_of(covers_.begin(), covers_.end(),
                       [&](const Cover& cover) { return cover.variable == variable; });
}

bool State::is_covered(unsigned variable, unsigned holder) const {
    Cover cover = {variable, holder};
    return std::find(covers_.begin(), covers_.end(), cover) != covers_.end();
}

void State::inherit(unsigned heir, unsigned variable) {
    std::vector<Cover> own;
    for (const Cover& cover : covers_) {
        if (cover.variable == variable) {
            own.push_back({heir, cover.holder});
        }
    }
    set(heir, holds_[variable]);
    covers_.insert(covers_.end(), own.begin(), own.end());
    put_covers_in_order();
}

void State::replace_holder(unsigned holder, unsigned other) {
    for (Cover& cover : covers_) {
        cover.holder = cover.holder == holder ? other : cover.holder;
    }
    put_covers_in_order();
}

// Notes what makes `variable` not alone in a state.
void State::add_covers(const State& state, unsigned variable) {
    Hold hold = state[variable];
    if (hold == memory) {
        covers_.push_back({variable, by_memory});
    } else if (hold == caller) {
        covers_.push_back({variable, for_good});
    } else if (hold >= shared) {
        covers_.push_back({variable, holder_of(hold)});
    } else {
        std::copy_if(state.covers_.begin(), state.covers_.end(),
                     std::back_inserter(covers_),
                     [&](const Cover& cover) { return cover.variable == variable; });
    }
}

void State::put_covers_in_order() {
    auto comes_before = [](const Cover& a, const Cover& b) {
        return std::tie(a.variable, a.holder) < std::tie(b.variable, b.holder);
    };
    std::sort(covers_.begin(), covers_.end(), comes_before);
    covers_.erase(std::unique(covers_.begin(), covers_.end()), covers_.end());
}

State join(const State& a, const State& b) {
    State joined;
    joined.holds_.reserve(a.size());
    for (unsigned i = 0; i < a.size(); i++) {
        Hold hold = join(seen_from(a, i, b[i]), seen_from(b, i, a[i]));
        if (!is_exact(hold) && (is_exact(a[i]) || is_exact(b[i]))) {
            std::optional<unsigned> same = same_on_both(a, b, i);
            hold = same ? held_by(*same) : hold;
        }
        joined.holds_.push_back(hold);
        if (hold == alone) {
            joined.add_covers(a, i);
            joined.add_covers(b, i);
        }
    }
    joined.put_covers_in_order();
    return joined;
}

} // namespace leakline
