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
        lose();
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
                keep(store->getValueOperand(), caller);
            }
            return;
        }
        if (may_overwrite_pointer(*store)) {
            lose();
            // What lies in the heap may be reachable through this variable only.
            if (llvm::isa<llvm::Constant>(store->getPointerOperand())) {
                keep(store->getValueOperand(), memory);
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
        lose();
    }
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        release(*call);
    }
}

// A block that is freed has no references, whatever still points there.
void Walk::release(llvm::CallBase& call) {
    for (const llvm::Use& use : call.args()) {
        auto reading = readings_.find(use);
        if (reading == readings_.end() || reading->second.variable < 0 ||
            !losing_.freeing().frees(call, call.getArgOperandNo(&use))) {
            continue;
        }
        auto variable = static_cast<unsigned>(reading->second.variable);
        if (reading->second.version == versions_[variable] &&
            state_[variable] < shared) {
            pass_on_nothing(variable);
        }
    }
}

void Walk::pass_on_nothing(unsigned variable) {
    state_[variable] = nothing;
    for (Hold& hold : state_) {
        hold = or_null(hold) == null_or_held_by(variable) ? nothing : hold;
    }
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
        return;
    }
    bool is_kept = pass_on(variable);
    if (!is_kept && state_[variable] == alone) {
        drop(store, variable);
    }
    Hold hold = hold_of(store.getValueOperand());
    if (llvm::isa<llvm::Argument>(store.getValueOperand()) && is_this(variable)) {
        hold = caller;
    }
    forget(variable);
    state_[variable] = or_null(hold) == null_or_held_by(variable) ? alone : hold;
    put_in_order(variable);
}

// Of variables that hold the same, the first stands for the others: so no two stand for
// each other, and ways on which one was copied in different directions know the same.
void Walk::put_in_order(unsigned variable) {
    while (is_exact(state_[variable]) && holder_of(state_[variable]) > variable) {
        unsigned holder = holder_of(state_[variable]);
        state_[variable] = state_[holder];
        for (Hold& other : state_) {
            if (other >= shared && holder_of(other) == holder) {
                other = other - held_by(holder) + held_by(variable);
            }
        }
        state_[holder] = held_by(variable);
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
            lose();
        }
        return;
    }
    auto variable = static_cast<unsigned>(found);
    bool is_kept = pass_on(variable) || is_returned(variable, *call.getParent());
    if (call.getIntrinsicID() == llvm::Intrinsic::lifetime_end && !is_kept &&
        state_[variable] == alone) {
        drop(call, variable);
    }
    forget(variable);
    state_[variable] = nothing;
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
void Walk::lose() {
    memory_version_++;
    for (Hold& hold : state_) {
        hold = hold == memory ? alone : hold;
    }
}

// The block that is lost may be the memory that held what others were read from.
void Walk::drop(llvm::Instruction& at, unsigned variable) {
    if (drops_ != nullptr) {
        drops_->push_back({&at, variable, false, nullptr});
    }
    lose();
}

// A variable is about to hold something else. True when another one surely holds what
// it held; that one then stands for it.
bool Walk::pass_on(unsigned variable) {
    auto heir = llvm::find(state_, held_by(variable));
    bool has_heir = heir != state_.end();
    Hold others = alone;
    if (has_heir) {
        *heir = state_[variable];
        others = held_by(static_cast<unsigned>(heir - state_.begin()));
    }
    for (Hold& hold : state_) {
        if (hold == held_by(variable)) {
            hold = others;
        } else if (hold == null_or_held_by(variable)) {
            hold = or_null(others);
        }
    }
    return has_heir;
}

void Walk::forget(unsigned variable) {
    versions_[variable]++;
}

// The variable that a value was just read from shares it with another holder.
void Walk::keep(llvm::Value* value, Hold hold) {
    auto reading = readings_.find(pointer_behind(value));
    if (reading == readings_.end() || reading->second.variable < 0) {
        return;
    }
    auto variable = static_cast<unsigned>(reading->second.variable);
    if (reading->second.version == versions_[variable] && state_[variable] == alone) {
        state_[variable] = hold;
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
