// Calling contexts: a number that tells the chain of calls that led to a function,
// handed from caller to callee in a thread-local variable. Calls inside a recursion
// leave it as it is, so its values stay few; the runtime takes the real stack at the
// first stamp with each value.
#pragma once
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

namespace leakline {

// What a function hands to one of the heap that it is about to call.
inline constexpr const char* allocating_name = "__leakline_allocating";

// Attribute of functions that note nothing themselves and leave their context to what
// they call, as if their caller had called it.
inline constexpr const char* passes_context = "leakline-passes-context";

// A thread-local variable of that name: one for the whole process, since the loader
// lets all modules share the first definition.
llvm::GlobalVariable* handed_variable(llvm::Module& module, llvm::StringRef name);

class Contexts {
  public:
    explicit Contexts(llvm::Module& module);

    // What a function was handed, as 64 bits that are there from its start on. All its
    // calls hand on what follows from it. Null if it passes its context.
    llvm::Value* context(llvm::Function& function);

    // Makes one context of what was handed and of the function that got it: one call
    // may lead to any of several functions.
    static uint32_t number_of(const llvm::Function& function);

  private:
    void hand_on(llvm::Function& function, llvm::Value* handed);
    void hand_to_heap(llvm::CallBase& call, llvm::Value* handed);
    llvm::Value* next(llvm::IRBuilder<>& builder, llvm::Value* handed);
    bool may_recur(const llvm::Function& caller, const llvm::CallBase& call) const;
    bool recurs(const llvm::Function& function) const;
    void number_recursions();
    void find_askers();
    bool asks(const llvm::Function& function) const;
    bool is_handed(const llvm::CallBase& call) const;

    llvm::Module& module_;
    // Functions that need a context: to stamp, or to hand it on.
    llvm::DenseSet<const llvm::Function*> askers_;
    llvm::GlobalVariable* current_;    // thread-local: what the caller handed over
    llvm::GlobalVariable* allocating_; // the same for functions of the heap
    uint64_t seed_;                    // tells the calls of different modules apart
    uint64_t calls_ = 0;
    llvm::DenseMap<const llvm::Function*, unsigned>
        recursion_; // functions of a ring share one
    llvm::DenseMap<const llvm::Function*, bool>
        from_outside_; // others may call it by address
};

} // namespace leakline
