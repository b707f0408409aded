#include "stamps_variables.h"

#include "stamps_exits.h"
#include "stamps_names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"

namespace leakline {

namespace {

// More pointers than this in an aggregate are found by a loop.
constexpr size_t most_words_in_line = 16;

std::string name_of(const Slot& slot) {
    llvm::DILocalVariable* variable = variable_of(slot.place);
    return variable != nullptr ? variable->getName().str() : std::string();
}

// A variable together with the line of the statement that gave it its value.
struct Tracked {
    const Slot* slot = nullptr;
    llvm::AllocaInst* birth = nullptr; // the number of the birth
    llvm::AllocaInst* sole = nullptr;  // what it holds alone; null: not followed
    Births births;
};

// Variables of a coroutine have no place before its block is there.
llvm::Instruction* start_of(llvm::Function& function) {
    llvm::Instruction* first = &*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
    if (!function.isPresplitCoroutine()) {
        return first;
    }
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::coro_begin) {
            return call->getNextNode();
        }
    }
    return first;
}

// A value that a coroutine keeps while it waits would stay in its block as a reference
// that nobody clears. So its variables are what is kept, not their values.
void keep_in_memory(const Slot& slot) {
    for (llvm::User* user : slot.place->users()) {
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
            load->setVolatile(true);
        } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
            store->setVolatile(true);
        }
    }
}

// Nothing may stand between a tail call and its return.
llvm::Instruction* place_before(llvm::Instruction* end) {
    llvm::CallInst* call = end->getParent()->getTerminatingMustTailCall();
    return call != nullptr && end->isTerminator() ? call : end;
}

class Noter {
  public:
    Noter(const Slots& slots, const Released& released, llvm::Function& function,
          const Tools& tools)
        : slots_(slots), released_(released), function_(function), tools_(tools),
          start_(start_of(function)), exits_(function) {
    }

    void note(const Drops& found);

  private:
    void find_exits();
    void track(llvm::ArrayRef<Drop> drops);
    void follow_soles(const Drops& found);
    void change_sole(const SoleChange& change, llvm::Instruction* before);
    llvm::AllocaInst* sole_of(unsigned variable) const;
    void follow_births(Tracked& tracked);
    void clear(const Slot& slot);
    void clear_outside(const Slot& slot);
    void clear_at(const Slot& slot, llvm::Instruction* before);
    llvm::Value* site_of(const Drop& drop, llvm::IRBuilder<>& builder);
    void drop(const Drop& drop);
    void end(const Slot& slot);
    void end_at(const Slot& slot, llvm::Instruction* end);

    const Slots& slots_;
    const Released& released_;
    llvm::Function& function_;
    const Tools& tools_;
    llvm::Instruction* start_; // where variables of the whole function begin
    Exits exits_;
    std::vector<llvm::Instruction*> function_ends_;
    std::vector<Tracked> tracked_; // by the number of the variable
};

void Noter::note(const Drops& found) {
    find_exits();
    track(found.drops);
    follow_soles(found);
    for (const Slot& slot : slots_.variables) {
        clear(slot);
    }
    for (const Slot& slot : slots_.in_memory) {
        clear(slot);
    }
    for (const Drop& one : found.drops) {
        drop(one);
    }
    for (const Slot& slot : slots_.in_memory) {
        end(slot);
    }
    bool is_coroutine = function_.isPresplitCoroutine();
    for (const Slot& slot : slots_.variables) {
        if (slots_.outlive_scopes || function_.hasOptNone() || is_coroutine) {
            clear_outside(slot);
        }
        if (is_coroutine) {
            keep_in_memory(slot);
        }
    }
    for (const Slot& slot : slots_.in_memory) {
        if (function_.hasOptNone()) {
            clear_outside(slot);
        }
    }
}

void Noter::find_exits() {
    if (function_.isPresplitCoroutine()) {
        return;
    }
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
        if (llvm::isa<llvm::ReturnInst, llvm::ResumeInst>(instruction)) {
            function_ends_.push_back(&instruction);
        }
    }
}

void Noter::track(llvm::ArrayRef<Drop> drops) {
    tracked_.resize(slots_.variables.size());
    for (const Drop& drop : drops) {
        Tracked& tracked = tracked_[drop.variable];
        if (tracked.slot == nullptr) {
            tracked.slot = &slots_.variables[drop.variable];
            follow_births(tracked);
        }
    }
}

// The place of a line in a list, counted from 1; adds it when it is new.
uint64_t number_of(unsigned line, llvm::SmallVectorImpl<unsigned>& lines) {
    auto known = llvm::find(lines, line);
    auto before = static_cast<uint64_t>(known - lines.begin());
    if (known == lines.end()) {
        lines.push_back(line);
    }
    return before + 1;
}

// Constants are no references, so they have no births.
std::vector<llvm::StoreInst*> bearing_stores(llvm::AllocaInst* place) {
    std::vector<llvm::StoreInst*> stores;
    for (llvm::User* user : place->users()) {
        auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
        if (store != nullptr && !llvm::isa<llvm::Constant>(store->getValueOperand())) {
            stores.push_back(store);
        }
    }
    return stores;
}

// A companion of the variable. Where one statement alone can have been the birth, the
// number is that of the statement, whatever the variable holds.
void Noter::follow_births(Tracked& tracked) {
    llvm::AllocaInst* place = tracked.slot->place;
    llvm::IRBuilder<> builder(place);
    tracked.birth =
        builder.CreateAlloca(builder.getInt64Ty(), nullptr, "leakline.birth");
    llvm::SmallVector<unsigned> lines;
    for (llvm::StoreInst* store : bearing_stores(place)) {
        llvm::DebugLoc where = store->getDebugLoc();
        uint64_t number = where ? number_of(where.getLine(), lines) : 0;
        llvm::IRBuilder<> behind(store->getNextNode());
        behind.CreateStore(behind.getInt64(number), tracked.birth);
    }
    tracked.births = tools_.sites.births(lines);
}

// What a drop notes is then null on ways on which somebody else holds the same.
void Noter::follow_soles(const Drops& found) {
    if (function_.hasOptNone() || function_.isPresplitCoroutine()) {
        return;
    }
    for (const Drop& drop : found.drops) {
        Tracked& tracked = tracked_[drop.variable];
        if (drop.depends_on_way && !drop.only_outside && tracked.sole == nullptr) {
            llvm::AllocaInst* place = tracked.slot->place;
            llvm::IRBuilder<> builder(place);
            llvm::Type* type = place->getAllocatedType();
            tracked.sole = builder.CreateAlloca(type, nullptr, "leakline.sole");
            llvm::IRBuilder<> start(start_);
            start.CreateStore(llvm::Constant::getNullValue(type), tracked.sole);
        }
    }
    // Several changes behind one instruction stay in their order.
    llvm::DenseMap<llvm::Instruction*, llvm::Instruction*> next;
    for (const SoleChange& change : found.changes) {
        next.try_emplace(change.at, change.at->getNextNode());
    }
    for (const SoleChange& change : found.changes) {
        bool is_before = change.when == SoleChange::When::before;
        change_sole(change, is_before ? place_before(change.at) : next[change.at]);
    }
}

void Noter::change_sole(const SoleChange& change, llvm::Instruction* before) {
    llvm::AllocaInst* sole = tracked_[change.variable].sole;
    if (sole == nullptr) {
        return;
    }
    llvm::IRBuilder<> builder(before);
    llvm::Type* type = sole->getAllocatedType();
    auto now = [&]() -> llvm::Value* {
        switch (change.sole) {
        case Sole::nothing:
        case Sole::freed:
            return llvm::Constant::getNullValue(type);
        case Sole::value:
            return builder.CreateLoad(type, slots_.variables[change.variable].place);
        case Sole::of_variable:
            return builder.CreateLoad(type, sole_of(change.other));
        }
        llvm_unreachable("all kinds are told apart");
    };
    builder.CreateStore(now(), sole);
}

// Where the companion of a variable is; without one the variable itself.
llvm::AllocaInst* Noter::sole_of(unsigned variable) const {
    llvm::AllocaInst* sole = tracked_[variable].sole;
    return sole != nullptr ? sole : slots_.variables[variable].place;
}

void Noter::clear(const Slot& slot) {
    if (slot.starts.empty()) {
        clear_at(slot, start_);
    }
    for (llvm::IntrinsicInst* start : slot.starts) {
        clear_at(slot, start->getNextNode());
    }
}

// Comes after the drops, so that it stands between them and the ends of scopes. Without
// optimisation the memory would hold what the variable held, as if it still did.
void Noter::clear_outside(const Slot& slot) {
    for (llvm::IntrinsicInst* end : slot.ends) {
        clear_at(slot, end);
    }
    if (!slot.starts.empty()) {
        clear_at(slot, start_);
    }
}

// All of an aggregate, not its pointers only: when it is copied over as a whole, words
// of other types are looked at too, and would show what older frames left there.
void Noter::clear_at(const Slot& slot, llvm::Instruction* before) {
    llvm::IRBuilder<> builder(before);
    llvm::Type* type = slot.place->getAllocatedType();
    if (type->isSingleValueType()) {
        builder.CreateStore(llvm::Constant::getNullValue(type), slot.place);
        return;
    }
    builder.CreateMemSet(slot.place, builder.getInt8(0),
                         function_.getParent()->getDataLayout().getTypeAllocSize(type),
                         slot.place->getAlign());
}

// True when a value is there before the block that its use is in.
bool is_there_before(const llvm::Value* value) {
    return llvm::isa<llvm::Constant, llvm::Argument>(value);
}

llvm::Value* Noter::site_of(const Drop& drop, llvm::IRBuilder<>& builder) {
    const Tracked& tracked = tracked_[drop.variable];
    bool is_store = llvm::isa<llvm::StoreInst>(drop.at);
    Cause cause = is_store ? Cause::overwritten : Cause::out_of_scope;
    Site site = {drop.at->getDebugLoc(), &function_, name_of(*tracked.slot), cause};
    bool is_call =
        llvm::isa<llvm::CallBase>(drop.at) && !llvm::isa<llvm::IntrinsicInst>(drop.at);
    if (is_store || is_call) {
        return tools_.sites.add(site, tracked.births);
    }
    const Ways& ways = drop.from != nullptr ? exits_.ways_from(drop.from, drop.at)
                                            : exits_.ways(drop.at);
    return site_of_way(ways, site, tracked.births, tools_.sites, builder);
}

void Noter::drop(const Drop& drop) {
    const Tracked& tracked = tracked_[drop.variable];
    bool is_told_by_sole = drop.depends_on_way && !drop.only_outside;
    llvm::AllocaInst* place =
        is_told_by_sole ? sole_of(drop.variable) : tracked.slot->place;
    llvm::DebugLoc where = drop.at->getDebugLoc();
    llvm::Instruction* before =
        drop.from != nullptr ? drop.from->getTerminator() : place_before(drop.at);
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(where);
    llvm::Value* site = site_of(drop, builder);
    // LLVM 19 may place arithmetic before the label of a landing pad, where it is never
    // run, so the birth stays unknown there, and whether the block is gone.
    llvm::Value* old = builder.CreateLoad(place->getAllocatedType(), place);
    llvm::Value* given = llvm::Constant::getNullValue(old->getType());
    if (!is_unwinding(before->getParent())) {
        auto* birth = builder.CreateLoad(builder.getInt64Ty(), tracked.birth);
        site = builder.CreateNUWAdd(site, birth);
        if (llvm::Value* gone = released_.is_gone(builder, tracked.slot->place)) {
            old = builder.CreateSelect(gone, given, old);
        }
    }
    auto* store = llvm::dyn_cast<llvm::StoreInst>(drop.at);
    if (store != nullptr &&
        (drop.from == nullptr || is_there_before(store->getValueOperand()))) {
        given = store->getValueOperand();
    }
    if (drop.only_outside) {
        tools_.emitter.replaced_outside(before, old, given, site, where);
    } else {
        tools_.emitter.replaced(before, old, given, site, where);
    }
}

void Noter::end(const Slot& slot) {
    for (llvm::IntrinsicInst* end : slot.ends) {
        end_at(slot, end);
    }
    if (slot.ends.empty()) {
        for (llvm::Instruction* end : function_ends_) {
            end_at(slot, end);
        }
    }
}

void Noter::end_at(const Slot& slot, llvm::Instruction* end) {
    llvm::Instruction* before = place_before(end);
    llvm::DebugLoc where = end->getDebugLoc();
    const Ways& ways = exits_.ways(end);
    auto site_of = [&](std::string name) {
        llvm::IRBuilder<> builder(before);
        Site site = {where, &function_, std::move(name), Cause::out_of_scope};
        return site_of_way(ways, site, {}, tools_.sites, builder);
    };
    if (slot.offsets.size() > most_words_in_line) {
        llvm::Value* site = site_of(name_of(slot));
        llvm::IRBuilder<> builder(before);
        uint64_t bytes = function_.getParent()->getDataLayout().getTypeAllocSize(
            slot.place->getAllocatedType());
        tools_.emitter.lost_in(before, slot.place, builder.getInt64(bytes), site,
                               where);
        return;
    }
    for (uint64_t offset : slot.offsets) {
        llvm::Value* site = site_of(name_of_part(slot.place, offset));
        llvm::IRBuilder<> builder(before);
        auto* address =
            builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), slot.place, offset);
        llvm::Value* gone = is_unwinding(before->getParent())
                                ? nullptr
                                : released_.is_gone(builder, address);
        tools_.emitter.lost_at(before, address,
                               llvm::commonAlignment(slot.place->getAlign(), offset),
                               site, where, gone);
    }
}

} // namespace

void note_variables(const Slots& slots, const Drops& drops, const Released& released,
                    llvm::Function& function, const Tools& tools) {
    Noter(slots, released, function, tools).note(drops);
}

} // namespace leakline
