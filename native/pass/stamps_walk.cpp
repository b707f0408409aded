#include "stamps_walk.h"

#include "stamps_endless.h"
#include "stamps_names.h"
#include "stamps_temporaries.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"

namespace leakline {

namespace {

llvm::Value* pointer_behind(llvm::Value* value) {
    for (;;) {
        value = base_of(value);
        auto* cast = llvm::dyn_cast<llvm::CastInst>(value);
        if (cast == nullptr || !(llvm::isa<llvm::PtrToIntInst>(cast) ||
                                 llvm::isa<llvm::IntToPtrInst>(cast))) {
            return value;
        }
        value = cast->getOperand(0);
    }
}

} // namespace

// The block that a result led to may be the memory that others were read from.
void Walk::step(llvm::Instruction& instruction) {
    follow(instruction);
    if (slots_.ends_of_results.contains(&instruction)) {
        lose(instruction);
    }
}

void Walk::follow(llvm::Instruction& instruction) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        read(*load);
        return;
    }
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        int variable = variable_at(store->getPointerOperand());
        if (variable >= 0) {
            write(*store, static_cast<unsigned>(variable));
            return;
        }
        auto passing = slots_.passing.find(store->getPointerOperand());
        if (passing != slots_.passing.end()) {
            if (passing->second) {
                keep(*store, store->getValueOperand(), caller);
            }
            return;
        }
        if (may_overwrite_pointer(*store)) {
            lose(*store);
            // What lies in the heap may be reachable through this variable only.
            if (llvm::isa<llvm::Constant>(store->getPointerOperand())) {
                keep(*store, store->getValueOperand(), memory);
            }
        }
        return;
    }
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
        if (call->isLifetimeStartOrEnd()) {
            end(*call);
            return;
        }
    }
    if (llvm::isa<llvm::ReturnInst, llvm::ResumeInst>(instruction)) {
        if (!instruction.getFunction()->isPresplitCoroutine()) {
            leave(instruction);
        }
        return;
    }
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        call != nullptr && leaves_frame(*call)) {
        leave(instruction);
        return;
    }
    if (may_lose(instruction)) {
        lose(instruction);
    }
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        release(*call);
    }
}

// A block that is freed has no references, whatever still points there.
void Walk::release(llvm::CallBase& call) {
    auto released = slots_.releases.find(&call);
    if (released == slots_.releases.end()) {
        return;
    }
    for (const auto& slot : released->second) {
        int found = variable_at(slot.first);
        if (found < 0) {
            continue;
        }
        auto variable = static_cast<unsigned>(found);
        if (is_exact(state_[variable])) {
            variable = holder_of(state_[variable]);
        }
        if (state_[variable] < shared) {
            pass_on_nothing(call, variable);
        } else {
            hold_nothing(call, variable);
        }
    }
}

void Walk::pass_on_nothing(llvm::Instruction& at, unsigned variable) {
    for (unsigned i = 0; i < state_.size(); i++) {
        if (i == variable || or_null(state_[i]) == null_or_held_by(variable)) {
            hold_nothing(at, i);
        }
    }
    state_.replace_holder(variable, for_good);
}

void Walk::hold_nothing(llvm::Instruction& at, unsigned variable) {
    state_.set(variable, nothing);
    change(SoleChange::When::before, at, variable, Sole::freed);
}

void Walk::read(llvm::LoadInst& load) {
    int variable = variable_at(load.getPointerOperand());
    if (variable < 0) {
        if (slots_.passing.count(load.getPointerOperand()) == 0) {
            readings_[&load] = {-1, memory_version_, memory};
        }
        return;
    }
    auto number = static_cast<unsigned>(variable);
    readings_[&load] = {variable, versions_[number], state_[number]};
}

void Walk::write(llvm::StoreInst& store, unsigned variable) {
    if (is_step_of(store)) {
        if (state_[variable] == alone && !state_.is_alone_sometimes(variable)) {
            change(SoleChange::When::after, store, variable, Sole::value);
        }
        return;
    }
    bool is_kept = pass_on(store, variable);
    if (!is_kept && state_[variable] == alone) {
        drop(store, variable);
    }
    Hold hold = hold_of(store.getValueOperand());
    if (llvm::isa<llvm::Argument>(store.getValueOperand()) && is_this(variable)) {
        hold = caller;
    }
    forget(variable);
    state_.set(variable, or_null(hold) == null_or_held_by(variable) ? alone : hold);
    change(SoleChange::When::after, store, variable,
           state_[variable] == alone ? Sole::value : Sole::nothing);
    put_in_order(store, variable);
}

// Of variables that hold the same, the first stands for the others: so no two stand for
// each other, and ways on which one was copied in different directions know the same.
void Walk::put_in_order(llvm::Instruction& at, unsigned variable) {
    while (is_exact(state_[variable]) && holder_of(state_[variable]) > variable) {
        unsigned holder = holder_of(state_[variable]);
        state_.inherit(variable, holder);
        if (state_[variable] == alone) {
            change(SoleChange::When::after, at, variable, Sole::of_variable, holder);
        }
        for (unsigned i = 0; i < state_.size(); i++) {
            if (state_[i] >= shared && holder_of(state_[i]) == holder) {
                state_.set(i, state_[i] - held_by(holder) + held_by(variable));
            }
        }
        state_.set(holder, held_by(variable));
        change(SoleChange::When::after, at, holder, Sole::nothing);
        state_.replace_holder(holder, variable);
    }
}

// Whoever calls a method of an object holds the object.
bool Walk::is_this(unsigned variable) const {
    llvm::DILocalVariable* known = variable_of(slots_.variables[variable].place);
    return known != nullptr && known->isArtificial();
}

void Walk::end(llvm::IntrinsicInst& call) {
    llvm::Value* place = call.getArgOperand(1);
    int found = variable_at(place);
    if (found < 0) {
        if (slots_.is_in_memory(place)) {
            lose(call);
        }
        return;
    }
    auto variable = static_cast<unsigned>(found);
    bool is_kept = pass_on(call, variable) || is_returned(variable, *call.getParent());
    if (call.getIntrinsicID() == llvm::Intrinsic::lifetime_end && !is_kept &&
        state_[variable] == alone) {
        drop(call, variable);
    }
    forget(variable);
    state_.set(variable, nothing);
    change(SoleChange::When::after, call, variable, Sole::nothing);
}

// What the function returns goes on living in its caller.
bool Walk::is_returned(unsigned variable, llvm::BasicBlock& block) const {
    auto* exit = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (exit == nullptr || exit->getReturnValue() == nullptr) {
        return false;
    }
    auto reading = readings_.find(pointer_behind(exit->getReturnValue()));
    return reading != readings_.end() &&
           reading->second.variable == static_cast<int>(variable) &&
           reading->second.version == versions_[variable];
}

void Walk::leave(llvm::Instruction& instruction) {
    for (unsigned i = 0; i < state_.size(); i++) {
        if (state_[i] == alone && !is_returned(i, *instruction.getParent())) {
            drop(instruction, i);
        }
    }
}

// A reference may be gone from memory: what memory held is no longer sure.
void Walk::lose(llvm::Instruction& at, std::optional<unsigned> but) {
    memory_version_++;
    for (unsigned i = 0; i < state_.size(); i++) {
        bool may_be_in_memory = state_[i] == memory || state_.is_covered(i, by_memory);
        if (may_be_in_memory && i != but) {
            hold_alone(at, i);
        }
    }
}

// The block that is lost may be the memory that held what others were read from.
void Walk::drop(llvm::Instruction& at, unsigned variable) {
    if (drops_ != nullptr) {
        bool depends_on_way = state_.is_alone_sometimes(variable);
        drops_->push_back({&at, variable, false, depends_on_way, nullptr});
    }
    lose(at, variable);
}

// A variable is about to hold something else. True when another one surely holds what
// it held; that one then stands for it.
bool Walk::pass_on(llvm::Instruction& at, unsigned variable) {
    if (is_exact(state_[variable])) {
        pass_on_covers(at, holder_of(state_[variable]), variable);
    }
    const std::vector<Hold>& holds = state_.holds();
    auto heir = llvm::find(holds, held_by(variable));
    bool has_heir = heir != holds.end();
    if (has_heir) {
        pass_on_to(at, static_cast<unsigned>(heir - holds.begin()), variable);
    }
    for (unsigned i = 0; i < state_.size(); i++) {
        if (state_[i] == null_or_held_by(variable) || state_.is_covered(i, variable)) {
            hold_alone(at, i);
        }
    }
    return has_heir;
}

// What others share with a variable, they share with its heir from now on.
void Walk::pass_on_to(llvm::Instruction& at, unsigned heir, unsigned variable) {
    bool relies_on_heir = state_.is_covered(variable, heir);
    state_.inherit(heir, variable);
    if (relies_on_heir) {
        hold_alone(at, heir);
    } else if (state_[heir] == alone) {
        change(SoleChange::When::before, at, heir, Sole::of_variable, variable);
    }
    for (unsigned i = 0; i < state_.size(); i++) {
        if (or_null(state_[i]) == null_or_held_by(variable)) {
            state_.set(i, state_[i] - held_by(variable) + held_by(heir));
        }
    }
    pass_on_covers(at, heir, variable);
}

void Walk::pass_on_covers(llvm::Instruction& at, unsigned heir, unsigned variable) {
    if (state_.is_covered(heir, variable)) {
        hold_alone(at, heir);
    }
    state_.replace_holder(variable, heir);
}

// On whichever way, from now on nobody else may hold what a variable holds.
void Walk::hold_alone(llvm::Instruction& at, unsigned variable) {
    state_.set(variable, alone);
    change(SoleChange::When::before, at, variable, Sole::value);
}

void Walk::change(SoleChange::When when, llvm::Instruction& at, unsigned variable,
                  Sole sole, unsigned other) {
    if (changes_ != nullptr) {
        changes_->push_back({when, &at, variable, sole, other});
    }
}

void Walk::forget(unsigned variable) {
    versions_[variable]++;
}

// The variable that a value was just read from shares it with another holder.
void Walk::keep(llvm::Instruction& at, llvm::Value* value, Hold hold) {
    auto reading = readings_.find(pointer_behind(value));
    if (reading == readings_.end() || reading->second.variable < 0) {
        return;
    }
    auto variable = static_cast<unsigned>(reading->second.variable);
    if (reading->second.version == versions_[variable] && state_[variable] == alone) {
        state_.set(variable, hold);
        change(SoleChange::When::after, at, variable, Sole::nothing);
    }
}

bool Walk::may_lose(llvm::Instruction& instruction) const {
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        return losing_.may_lose(*call);
    }
    return llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction);
}

bool Walk::is_event(const llvm::Instruction& instruction) const {
    if (slots_.ends_of_results.contains(&instruction)) {
        return true;
    }
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        return variable_at(store->getPointerOperand()) < 0 &&
               slots_.passing.count(store->getPointerOperand()) == 0 &&
               may_overwrite_pointer(*store);
    }
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
        return call->isLifetimeStartOrEnd()
                   ? slots_.is_in_memory(call->getArgOperand(1))
                   : llvm::isa<llvm::AnyMemIntrinsic>(call);
    }
    return llvm::isa<llvm::CallBase, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(
        instruction);
}

int Walk::changed_variable(const llvm::Instruction& instruction) const {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        return variable_at(store->getPointerOperand());
    }
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    return call != nullptr && call->isLifetimeStartOrEnd()
               ? variable_at(call->getArgOperand(1))
               : -1;
}

int Walk::variable_at(const llvm::Value* address) const {
    auto found = slots_.number.find(address);
    return found == slots_.number.end() ? -1 : static_cast<int>(found->second);
}

Hold Walk::hold_of(llvm::Value* value) const {
    value = pointer_behind(value);
    if (llvm::isa<llvm::Constant, llvm::AllocaInst>(value)) {
        return nothing;
    }
    if (llvm::isa<llvm::Argument>(value)) {
        return callers_keep_ ? caller : alone;
    }
    if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(value)) {
        return join(hold_of(choice->getTrueValue()), hold_of(choice->getFalseValue()));
    }
    auto found = readings_.find(value);
    if (found == readings_.end()) {
        return alone;
    }
    Reading reading = found->second;
    if (reading.variable < 0) {
        return reading.version == memory_version_ ? memory : alone;
    }
    if (reading.hold == nothing || reading.hold == caller) {
        return reading.hold;
    }
    auto variable = static_cast<unsigned>(reading.variable);
    if (reading.version != versions_[variable]) {
        return alone;
    }
    return state_[variable] >= shared ? state_[variable] : held_by(variable);
}

// `p++` and the like: the variable goes on pointing into the same block.
bool Walk::is_step_of(llvm::StoreInst& store) const {
    auto found = readings_.find(pointer_behind(store.getValueOperand()));
    if (found == readings_.end() || found->second.variable < 0) {
        return false;
    }
    auto variable = static_cast<unsigned>(found->second.variable);
    return variable_at(store.getPointerOperand()) == found->second.variable &&
           found->second.version == versions_[variable];
}

} // namespace leakline
