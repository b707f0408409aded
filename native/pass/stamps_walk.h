// One walk along the instructions of a block that follows who holds what its variables
// hold, and finds the drops.
#pragma once
#include "stamps_flow.h"
#include "stamps_holds.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <vector>

namespace leakline {

// A value that was read from a variable or from memory in the current block.
struct Reading {
    int variable;     // -1: from memory
    unsigned version; // of the variable, or of all memory
    Hold hold;        // of the variable at that time
};

class Walk {
  public:
    Walk(const Slots& slots, const Losing& losing, bool callers_keep, State& state,
         std::vector<Drop>* drops, std::vector<SoleChange>* changes)
        : slots_(slots), losing_(losing), callers_keep_(callers_keep), state_(state),
          drops_(drops), changes_(changes), versions_(state.size(), 0) {
    }

    void step(llvm::Instruction& instruction);

    // True for an instruction that may be noted itself, or after which memory may hold
    // less. Drops can be noted before what comes before it.
    bool is_event(const llvm::Instruction& instruction) const;

    // The variable that an instruction gives a value to or ends; -1 if none.
    int changed_variable(const llvm::Instruction& instruction) const;

  private:
    void follow(llvm::Instruction& instruction);
    void read(llvm::LoadInst& load);
    void write(llvm::StoreInst& store, unsigned variable);
    void put_in_order(llvm::Instruction& at, unsigned variable);
    bool is_this(unsigned variable) const;
    void end(llvm::IntrinsicInst& call);
    bool is_returned(unsigned variable, llvm::BasicBlock& block) const;
    void leave(llvm::Instruction& instruction);
    void lose(llvm::Instruction& at, std::optional<unsigned> but = std::nullopt);
    void drop(llvm::Instruction& at, unsigned variable);
    bool pass_on(llvm::Instruction& at, unsigned variable);
    void pass_on_to(llvm::Instruction& at, unsigned heir, unsigned variable);
    void pass_on_covers(llvm::Instruction& at, unsigned heir, unsigned variable);
    void hold_alone(llvm::Instruction& at, unsigned variable);
    void change(SoleChange::When when, llvm::Instruction& at, unsigned variable,
                Sole sole, unsigned other = 0);
    void forget(unsigned variable);
    void release(llvm::CallBase& call);
    void pass_on_nothing(llvm::Instruction& at, unsigned variable);
    void hold_nothing(llvm::Instruction& at, unsigned variable);
    void keep(llvm::Instruction& at, llvm::Value* value, Hold hold);
    bool may_lose(llvm::Instruction& instruction) const;
    int variable_at(const llvm::Value* address) const;
    Hold hold_of(llvm::Value* value) const;
    bool is_step_of(llvm::StoreInst& store) const;

    const Slots& slots_;
    const Losing& losing_;
    bool callers_keep_;
    State& state_;
    std::vector<Drop>* drops_;         // null while the states are still being found
    std::vector<SoleChange>* changes_; // the same
    std::vector<unsigned> versions_;
    unsigned memory_version_ = 0;
    llvm::DenseMap<llvm::Value*, Reading> readings_;
};

} // namespace leakline
