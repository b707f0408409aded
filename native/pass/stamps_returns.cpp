#include "stamps_returns.h"

#include "stamps_debug.h"
#include "stamps_places.h"
#include "stamps_slots.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfo.h"

namespace leakline {

namespace {

// A `return` farther back is not looked for.
constexpr unsigned most_blocks_back = 16;

// True when only cleanups stand between the instruction and a `return` statement, which
// comes before the brace that ends the scope.
bool leads_to_return(const llvm::Instruction* end, llvm::DebugLoc cleanup) {
    while (!end->isTerminator()) {
        end = end->getNextNode();
        llvm::DebugLoc where = end->getDebugLoc();
        if (!end->isTerminator() && where && !is_same_place(where, cleanup)) {
            return false;
        }
    }
    llvm::DebugLoc exit = end->getDebugLoc();
    return llvm::isa<llvm::ReturnInst>(end) && exit &&
           (!cleanup || exit.getLine() <= cleanup.getLine());
}

// Where the function makes what it returns, unless that is a mere value; null if
// nowhere.
llvm::Value* place_of_result(llvm::Function& function, const llvm::ReturnInst& exit) {
    if (function.hasStructRetAttr()) {
        return function.getArg(0);
    }
    auto* load = llvm::dyn_cast_or_null<llvm::LoadInst>(exit.getReturnValue());
    return load != nullptr ? base_of(load->getPointerOperand()) : nullptr;
}

bool is_variable(llvm::Value* place) {
    return declared_at(place) != nullptr;
}

// True when a variable of the function is that object.
bool is_named(llvm::Value* result) {
    return is_variable(result) || llvm::any_of(result->users(), [](llvm::User* user) {
               auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
               return store != nullptr && is_variable(store->getPointerOperand());
           });
}

// Before its cleanups `return` makes the object, or notes in a flag of clang's that a
// variable which is the object stays.
bool makes_result(const llvm::Instruction& statement, llvm::Value* result) {
    if (is_named(result)) {
        auto* store = llvm::dyn_cast<llvm::StoreInst>(&statement);
        auto* flag = store != nullptr
                         ? llvm::dyn_cast<llvm::AllocaInst>(store->getPointerOperand())
                         : nullptr;
        return flag != nullptr && flag->getAllocatedType()->isIntegerTy(1);
    }
    return llvm::any_of(statement.operands(), [&](const llvm::Use& operand) {
        return base_of(operand) == result;
    });
}

// Looks for the `return` that comes before cleanups: a statement of one line, on
// whatever ways.
class ReturnSearch {
  public:
    ReturnSearch(llvm::Value* result, llvm::DebugLoc cleanup)
        : result_(result), cleanup_(std::move(cleanup)) {
    }

    // Null when something else comes last on some way to the instruction.
    llvm::DebugLoc before(llvm::Instruction* end) {
        bool is_last = comes_last(end->getParent(), end->getReverseIterator());
        return is_last ? place_ : llvm::DebugLoc();
    }

  private:
    bool comes_last(llvm::BasicBlock* block, llvm::BasicBlock::reverse_iterator at) {
        for (llvm::Instruction& one : llvm::make_range(at, block->rend())) {
            llvm::DebugLoc where = one.getDebugLoc();
            if (!where || where.getLine() == 0 || is_same_place(where, cleanup_)) {
                continue;
            }
            line_ = line_ == 0 ? where.getLine() : line_;
            if (where.getLine() != line_) {
                return false;
            }
            if (makes_result(one, result_)) {
                place_ = where;
                return true;
            }
        }
        return !llvm::pred_empty(block) && seen_.size() <= most_blocks_back &&
               llvm::all_of(llvm::predecessors(block), [&](llvm::BasicBlock* from) {
                   return !seen_.insert(from).second ||
                          comes_last(from, from->rbegin());
               });
    }

    llvm::Value* result_;
    llvm::DebugLoc cleanup_;
    unsigned line_ = 0; // 0: not known yet
    llvm::DebugLoc place_;
    llvm::SmallPtrSet<llvm::BasicBlock*, 16> seen_;
};

// The exit of the function when that is where the scope ends; null when it ends before.
const llvm::ReturnInst* exit_at(llvm::DebugLoc place, llvm::Function& function) {
    for (llvm::BasicBlock& block : function) {
        auto* exit = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
        if (exit != nullptr && is_same_place(exit->getDebugLoc(), place)) {
            return exit;
        }
    }
    return nullptr;
}

} // namespace

llvm::DebugLoc end_of_scope(llvm::Instruction* end) {
    llvm::DebugLoc own = end->getDebugLoc();
    llvm::Function& function = *end->getFunction();
    if (const llvm::ReturnInst* exit = exit_at(own, function)) {
        llvm::Value* result = place_of_result(function, *exit);
        llvm::DebugLoc found;
        if (result != nullptr) {
            found = ReturnSearch(result, own).before(end);
        }
        return found ? found : own;
    }
    return leads_to_return(end, own) ? end->getParent()->getTerminator()->getDebugLoc()
                                     : own;
}

} // namespace leakline
