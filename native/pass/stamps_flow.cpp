#include "stamps_flow.h"

#include "stamps_destinations.h"
#include "stamps_walk.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/IR/CFG.h"

#include <tuple>

namespace leakline {

namespace {

// A block with more ways into it gets its notes once for all of them.
constexpr unsigned most_ways = 16;

class Flow {
  public:
    Flow(llvm::Function& function, const Slots& slots, const Losing& losing,
         bool callers_keep)
        : function_(function), slots_(slots), losing_(losing),
          callers_keep_(callers_keep), destinations_(function) {
    }

    Drops drops();

  private:
    void find_states();
    State walk_through(llvm::BasicBlock& block, State state) const;
    void join_destinations();
    std::vector<Drop> drops_in(llvm::BasicBlock& block, State state,
                               const llvm::Instruction* end,
                               std::vector<SoleChange>* changes) const;
    const llvm::Instruction* first_event(llvm::BasicBlock& block) const;
    std::vector<Drop> drops_by_way(llvm::BasicBlock& block,
                                   const llvm::Instruction* end) const;

    llvm::Function& function_;
    const Slots& slots_;
    const Losing& losing_;
    bool callers_keep_;
    Destinations destinations_;
    // Of blocks that can be reached, with what is known of the destination there.
    llvm::MapVector<std::pair<llvm::BasicBlock*, Destination>, State> states_;
    // Of the same, wherever they lead.
    llvm::DenseMap<llvm::BasicBlock*, State> entries_;
    llvm::DenseMap<llvm::BasicBlock*, State> exits_;
};

Drops Flow::drops() {
    find_states();
    Drops found;
    for (llvm::BasicBlock& block : function_) {
        auto entry = entries_.find(&block);
        if (entry == entries_.end()) {
            continue;
        }
        const llvm::Instruction* event = first_event(block);
        std::vector<Drop> apart = drops_by_way(block, event);
        bool is_before_event = !apart.empty();
        for (const Drop& drop :
             drops_in(block, entry->second, nullptr, &found.changes)) {
            is_before_event &= event == nullptr || drop.at->comesBefore(event);
            if (!is_before_event) {
                apart.push_back(drop);
            }
        }
        llvm::append_range(found.drops, apart);
    }
    return found;
}

// True when more is possible in a state than was known.
template <typename States, typename Key>
bool join_into(States& states, const Key& key, const State& state) {
    auto [known, is_new] = states.insert({key, state});
    State joined = is_new ? state : join(known->second, state);
    bool changed = is_new || joined != known->second;
    known->second = std::move(joined);
    return changed;
}

void Flow::find_states() {
    std::pair first(&function_.getEntryBlock(), any_destination);
    states_[first] = State(slots_.variables.size());
    std::vector pending = {first};
    while (!pending.empty()) {
        auto [block, destination] = pending.back();
        pending.pop_back();
        State state = walk_through(*block, states_[{block, destination}]);
        for (auto next : destinations_.next(*block, destination)) {
            if (join_into(states_, next, state)) {
                pending.push_back(next);
            }
        }
    }
    join_destinations();
}

State Flow::walk_through(llvm::BasicBlock& block, State state) const {
    Walk walk(slots_, losing_, callers_keep_, state, nullptr, nullptr);
    for (llvm::Instruction& instruction : block) {
        walk.step(instruction);
    }
    return state;
}

void Flow::join_destinations() {
    for (const auto& [key, state] : states_) {
        join_into(entries_, key.first, state);
        join_into(exits_, key.first, walk_through(*key.first, state));
    }
}

std::vector<Drop> Flow::drops_in(llvm::BasicBlock& block, State state,
                                 const llvm::Instruction* end,
                                 std::vector<SoleChange>* changes) const {
    std::vector<Drop> drops;
    Walk walk(slots_, losing_, callers_keep_, state, &drops, changes);
    for (llvm::Instruction& instruction : block) {
        if (&instruction == end) {
            break;
        }
        walk.step(instruction);
    }
    return drops;
}

// Up to there each variable loses at most what it had at the start of the block. Null
// when that is so for the whole block.
const llvm::Instruction* Flow::first_event(llvm::BasicBlock& block) const {
    State state(slots_.variables.size());
    Walk walk(slots_, losing_, callers_keep_, state, nullptr, nullptr);
    llvm::SmallSet<int, 8> changed;
    for (const llvm::Instruction& instruction : block) {
        int variable = walk.changed_variable(instruction);
        if (walk.is_event(instruction) ||
            (variable >= 0 && !changed.insert(variable).second)) {
            return &instruction;
        }
    }
    return nullptr;
}

bool only_goes_on(const llvm::BasicBlock* block) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    return branch != nullptr && branch->isUnconditional();
}

// True when a companion changes in the block before the drop: what is noted on the way
// there is noted before that.
bool is_changed_before(const Drop& drop, llvm::ArrayRef<SoleChange> changes) {
    return llvm::any_of(changes, [&](const SoleChange& change) {
        bool is_before = change.at == drop.at ? change.when == SoleChange::When::before
                                              : change.at->comesBefore(drop.at);
        return change.variable == drop.variable && is_before;
    });
}

// Where the ways into a block differ in what they have to note before `end`, each
// notes its own: a call that hardly ever happens must not make the others pay. Empty
// when they do not differ, or when there is no place to note anything.
std::vector<Drop> Flow::drops_by_way(llvm::BasicBlock& block,
                                     const llvm::Instruction* end) const {
    std::vector<Drop> all;
    llvm::SmallPtrSet<llvm::BasicBlock*, most_ways> ways;
    std::vector<std::pair<llvm::Instruction*, unsigned>> usual;
    bool differ = false;
    for (llvm::BasicBlock* from : llvm::predecessors(&block)) {
        auto state = exits_.find(from);
        if (state == exits_.end() || !ways.insert(from).second) {
            continue;
        }
        std::vector<std::pair<llvm::Instruction*, unsigned>> own;
        std::vector<SoleChange> changes;
        for (Drop drop : drops_in(block, state->second, end, &changes)) {
            own.emplace_back(drop.at, drop.variable);
            drop.from = from;
            drop.depends_on_way &= !is_changed_before(drop, changes);
            all.push_back(drop);
        }
        if ((!own.empty() && !only_goes_on(from)) || ways.size() > most_ways) {
            return {};
        }
        differ |= ways.size() > 1 && own != usual;
        usual = std::move(own);
    }
    return differ && !function_.hasOptNone() ? all : std::vector<Drop>();
}

// What has to be noted for callers of any kind, and what else for those that hold
// nothing.
std::vector<Drop> joined(std::vector<Drop> known, llvm::ArrayRef<Drop> unknown) {
    auto key = [](const Drop& drop) {
        return std::make_tuple(drop.at, drop.variable, drop.from);
    };
    llvm::DenseSet<std::tuple<llvm::Instruction*, unsigned, llvm::BasicBlock*>> found;
    for (const Drop& drop : known) {
        found.insert(key(drop));
    }
    for (Drop drop : unknown) {
        if (!found.contains(key(drop))) {
            drop.only_outside = true;
            known.push_back(drop);
        }
    }
    return known;
}

} // namespace

Drops find_drops(llvm::Function& function, const Slots& slots, const Losing& losing) {
    if (slots.variables.empty()) {
        return {};
    }
    // The caller of a coroutine does not wait for its end.
    if (function.isPresplitCoroutine()) {
        return Flow(function, slots, losing, false).drops();
    }
    Drops found = Flow(function, slots, losing, true).drops();
    if (function.hasAddressTaken()) {
        found.drops = joined(std::move(found.drops),
                             Flow(function, slots, losing, false).drops().drops);
    }
    return found;
}

} // namespace leakline
