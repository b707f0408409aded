// How clang leaves a scope: a statement that jumps stores the number of its destination
// into a variable of the compiler's own (0: go on behind the scope, 1: return) and
// branches to the cleanups of the innermost scope, which switch by that number to the
// cleanups of the next one.
#include "stamps_exits.h"

#include "stamps_destinations.h"
#include "stamps_names.h"
#include "stamps_places.h"
#include "stamps_returns.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"

#include <optional>

namespace leakline {

namespace {

constexpr unsigned most_predecessors = 64;
// A scope that is left in more ways is told as left where it ends.
constexpr size_t most_places = 32;
constexpr uint64_t go_on = 0;
constexpr uint64_t to_return = 1;

// True when nothing before the instruction in its block is a statement of its own.
bool is_only_cleanup(const llvm::Instruction* end, llvm::DebugLoc cleanup) {
    for (const llvm::Instruction& before : *end->getParent()) {
        if (&before == end) {
            return true;
        }
        llvm::DebugLoc where = before.getDebugLoc();
        if (!llvm::isa<llvm::PHINode>(before) && where &&
            !is_same_place(where, cleanup)) {
            return false;
        }
    }
    return true;
}

const llvm::Instruction* first_scope_end(const llvm::BasicBlock* block) {
    for (const llvm::Instruction& instruction : *block) {
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (call != nullptr &&
            call->getIntrinsicID() == llvm::Intrinsic::lifetime_end) {
            return call;
        }
    }
    return nullptr;
}

// The destination that a block sets; nothing when it does not jump.
std::optional<uint64_t> destination_of(llvm::BasicBlock* block) {
    for (llvm::Instruction& instruction : llvm::reverse(*block)) {
        auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        if (store != nullptr && holds_destinations(store->getPointerOperand())) {
            return llvm::cast<llvm::ConstantInt>(store->getValueOperand())
                ->getZExtValue();
        }
    }
    return std::nullopt;
}

// True when the block stores what the function returns, as `return` does where several
// of them share one end.
bool sets_result(llvm::BasicBlock* block) {
    return llvm::any_of(*block, [](llvm::Instruction& instruction) {
        auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        auto* slot = store == nullptr
                         ? nullptr
                         : llvm::dyn_cast<llvm::AllocaInst>(store->getPointerOperand());
        return slot != nullptr && variable_of(slot) == nullptr &&
               llvm::any_of(slot->users(), [](llvm::User* user) {
                   return llvm::isa<llvm::LoadInst>(user) &&
                          llvm::any_of(user->users(), [](llvm::User* reader) {
                              return llvm::isa<llvm::ReturnInst>(reader);
                          });
               });
    });
}

bool is_jump(llvm::BasicBlock* from, llvm::BasicBlock* to) {
    if (llvm::isa<llvm::InvokeInst>(from->getTerminator())) {
        return to->isLandingPad();
    }
    std::optional<uint64_t> destination = destination_of(from);
    if (destination.has_value()) {
        return *destination != go_on;
    }
    return llvm::isa<llvm::ReturnInst>(to->getTerminator()) && sets_result(from);
}

// True when jumps pass through the cleanups of an inner scope on their way.
bool passes_jumps_on(llvm::BasicBlock* inner, llvm::BasicBlock* to) {
    if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(inner->getTerminator())) {
        return choice->findCaseDest(to) == nullptr ||
               choice->findCaseDest(to)->getZExtValue() != go_on;
    }
    if (llvm::isa<llvm::InvokeInst>(inner->getTerminator()) || inner->isLandingPad()) {
        return true;
    }
    return llvm::all_of(llvm::predecessors(inner), [](llvm::BasicBlock* from) {
        return destination_of(from) == to_return;
    });
}

bool can_choose(const llvm::BasicBlock* block) {
    return !llvm::pred_empty(block) && llvm::pred_size(block) <= most_predecessors;
}

bool begins_handler(const llvm::BasicBlock& block) {
    return llvm::any_of(block, [](const llvm::Instruction& instruction) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        auto* callee = call != nullptr ? call->getCalledFunction() : nullptr;
        return callee != nullptr && callee->getName() == "__cxa_begin_catch";
    });
}

bool is_shared(const llvm::Instruction* end) {
    return is_only_cleanup(end, end->getDebugLoc()) && can_choose(end->getParent());
}

llvm::Constant* site_of_number(const llvm::ConstantInt* number, const SiteRow& row) {
    uint64_t distance = number->getZExtValue() * row.step_bytes;
    return llvm::ConstantInt::get(row.first->getType(),
                                  row.first->getZExtValue() + distance);
}

using Choices = llvm::DenseMap<const llvm::PHINode*, llvm::PHINode*>;

// Chooses among the sites of a row wherever a number is chosen, without arithmetic.
llvm::Value* choose_site(llvm::Value* number, const SiteRow& row, Choices& known) {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(number)) {
        return site_of_number(constant, row);
    }
    auto* numbers = llvm::cast<llvm::PHINode>(number);
    auto found = known.find(numbers);
    if (found != known.end()) {
        return found->second;
    }
    auto* sites = llvm::PHINode::Create(
        row.first->getType(), numbers->getNumIncomingValues(), "leakline.site");
    sites->insertInto(numbers->getParent(), numbers->getIterator());
    known[numbers] = sites;
    for (llvm::BasicBlock* from : numbers->blocks()) {
        llvm::Value* given = numbers->getIncomingValueForBlock(from);
        sites->addIncoming(choose_site(given, row, known), from);
    }
    return sites;
}

} // namespace

bool is_unwinding(const llvm::BasicBlock* block, unsigned depth) {
    if (block->isLandingPad() || llvm::isa<llvm::ResumeInst>(block->getTerminator())) {
        return true;
    }
    return depth < 8 && !llvm::pred_empty(block) &&
           llvm::all_of(
               llvm::predecessors(block),
               [&](const llvm::BasicBlock* from) {
                   return is_unwinding(from, depth + 1);
               });
}

// LLVM 19 may place arithmetic before the label of a landing pad, where it is never
// run.
llvm::Value* site_of_way(const Ways& ways, const Site& site, const Births& births,
                         SiteTable& sites, llvm::IRBuilder<>& builder) {
    SiteRow row = sites.add_row(site, ways.places, births);
    if (ways.places.size() == 1) {
        return row.first;
    }
    if (is_unwinding(builder.GetInsertBlock())) {
        Choices known;
        return choose_site(ways.number, row, known);
    }
    llvm::Value* distance =
        builder.CreateNUWMul(ways.number, builder.getInt64(row.step_bytes));
    return builder.CreateNUWAdd(distance, row.first);
}

// What is behind a landing pad is no statement of the source until a handler begins.
Exits::Exits(llvm::Function& function) {
    std::vector<llvm::BasicBlock*> pending = {&function.getEntryBlock()};
    for (llvm::BasicBlock& block : function) {
        if (begins_handler(block)) {
            pending.push_back(&block);
        }
    }
    while (!pending.empty()) {
        llvm::BasicBlock* block = pending.back();
        pending.pop_back();
        if (!of_statements_.insert(block).second) {
            continue;
        }
        for (llvm::BasicBlock* next : llvm::successors(block)) {
            if (!next->isLandingPad()) {
                pending.push_back(next);
            }
        }
    }
}

const Ways& Exits::ways(llvm::Instruction* end) {
    return ways_from(nullptr, end);
}

const Ways& Exits::ways_from(llvm::BasicBlock* from, llvm::Instruction* end) {
    llvm::DebugLoc own = end_of_scope(end);
    llvm::BasicBlock* block = end->getParent();
    bool is_chosen = is_passed(block) ? can_choose(block) : is_shared(end);
    auto [found, is_new] =
        known_.try_emplace(std::tuple(block, is_chosen ? from : nullptr, own.get()));
    if (is_new) {
        Search search(found->second, own);
        if (!is_chosen) {
            search.ways.number = number_of(own, block, search);
        } else if (from != nullptr) {
            search.ways.number = number_from(from, block, search);
        } else {
            search.ways.number = number_on_entry(block, search);
        }
    }
    return found->second;
}

llvm::Value* Exits::number_of(llvm::DebugLoc place, llvm::BasicBlock* block,
                              Search& search) {
    std::vector<llvm::DebugLoc>& places = search.ways.places;
    auto find = [&](llvm::DebugLoc wanted) {
        return llvm::find_if(places, [&](llvm::DebugLoc known) {
            return known == wanted || is_on_same_line(known, wanted);
        });
    };
    auto known = find(place);
    if (known == places.end() && places.size() >= most_places) {
        place = search.own;
        known = find(place);
    }
    auto number = static_cast<uint64_t>(known - places.begin());
    if (known == places.end()) {
        places.push_back(place);
    }
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(block->getContext()), number);
}

// The choice among the branches into a block, made before its first instruction.
llvm::Value* Exits::number_on_entry(llvm::BasicBlock* block, Search& search) {
    auto found = search.on_entry.find(block);
    if (found != search.on_entry.end()) {
        return found->second;
    }
    auto* choice = llvm::PHINode::Create(llvm::Type::getInt64Ty(block->getContext()),
                                         llvm::pred_size(block), "leakline.exit");
    choice->insertInto(block, block->begin());
    search.on_entry[block] = choice;
    llvm::DenseMap<llvm::BasicBlock*, llvm::Value*> numbers;
    for (llvm::BasicBlock* from : llvm::predecessors(block)) {
        llvm::Value*& number = numbers[from];
        if (number == nullptr) {
            number = number_from(from, block, search);
        }
        choice->addIncoming(number, from);
    }
    return choice;
}

llvm::Value* Exits::number_from(llvm::BasicBlock* from, llvm::BasicBlock* to,
                                Search& search) {
    llvm::DebugLoc branch = from->getTerminator()->getDebugLoc();
    if (leads_on(from, to) && can_choose(from)) {
        return number_on_entry(from, search);
    }
    // A variable that a condition declares ends at the condition, as far as clang
    // tells, and so before the end of a branch.
    bool is_own =
        !branch || !(is_jump(from, to) || is_on_later_line(branch, search.own));
    return number_of(is_own ? search.own : branch, to, search);
}

// True for cleanups on the way to others, of which only what came before tells where
// the scope was left.
bool Exits::leads_on(llvm::BasicBlock* from, llvm::BasicBlock* to) const {
    if (is_passed(from)) {
        return true;
    }
    const llvm::Instruction* end = first_scope_end(from);
    return end != nullptr && !is_jump(from, to) &&
           is_only_cleanup(from->getTerminator(), end->getDebugLoc()) &&
           passes_jumps_on(from, to);
}

} // namespace leakline
