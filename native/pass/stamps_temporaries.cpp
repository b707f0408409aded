#include "stamps_temporaries.h"

#include "stamps_callees.h"
#include "stamps_names.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Operator.h"

namespace leakline {

namespace {

// New blocks are lost with a result that nobody keeps; pointers into old ones are not.
bool makes_blocks(llvm::StringRef name) {
    static const llvm::StringSet<> names = {"malloc",  "calloc", "strdup",
                                            "strndup", "_Znwm",  "_Znam"};
    return names.contains(name);
}

bool may_return_last_reference(const llvm::CallBase& call) {
    llvm::StringRef name = callee_name(call);
    return makes_blocks(name) || !is_harmless_library_function(name);
}

// The last use of a result in each block, or nothing when it goes on living in a slot,
// in another value or in the caller.
struct Uses {
    bool is_kept = false;
    llvm::MapVector<llvm::BasicBlock*, llvm::Instruction*> last;
};

void follow(llvm::Value* value, Uses& uses) {
    for (llvm::User* user : value->users()) {
        auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
        if (instruction == nullptr) {
            continue;
        }
        llvm::Instruction*& last = uses.last[instruction->getParent()];
        if (last == nullptr || last->comesBefore(instruction)) {
            last = instruction;
        }
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
            uses.is_kept |= store->getValueOperand() == value;
        } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(instruction)) {
            uses.is_kept |= releases_block(*call);
        } else if (llvm::isa<llvm::GEPOperator>(instruction)) {
            follow(instruction, uses);
        } else if (!llvm::isa<llvm::LoadInst, llvm::CmpInst>(instruction)) {
            uses.is_kept = true;
        }
    }
}

void add_result(llvm::CallBase& call, std::vector<Temporary>& found) {
    Uses uses;
    follow(&call, uses);
    if (uses.is_kept) {
        return;
    }
    if (uses.last.empty()) {
        found.push_back({&call, &call, {}, Cause::never_stored});
        return;
    }
    for (auto& [block, last] : uses.last) {
        found.push_back({&call, last, {}, Cause::never_stored});
    }
}

void add_arguments(llvm::CallBase& call, const Slots& slots, const Freeing& freeing,
                   std::vector<Temporary>& found) {
    for (llvm::Use& use : call.args()) {
        llvm::Value* argument = use;
        if (freeing.frees(call, call.getArgOperandNo(&use))) {
            continue;
        }
        auto* load = llvm::dyn_cast<llvm::LoadInst>(base_of(argument));
        if (load == nullptr || !argument->getType()->isPointerTy() ||
            slots.number.count(load->getPointerOperand()) != 0 ||
            slots.passing.count(load->getPointerOperand()) != 0) {
            continue;
        }
        found.push_back({argument, &call, name_of_slot(load->getPointerOperand()),
                         Cause::out_of_scope});
    }
}

} // namespace

std::vector<Temporary> find_temporaries(llvm::Function& function, const Slots& slots,
                                        const Losing& losing) {
    std::vector<Temporary> found;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call == nullptr || llvm::isa<llvm::IntrinsicInst>(call) ||
            call->isInlineAsm() || call->isMustTailCall() || call->doesNotReturn()) {
            continue;
        }
        if (call->getType()->isPointerTy() && may_return_last_reference(*call)) {
            add_result(*call, found);
        }
        if (losing.may_lose(*call) && !releases_block(*call)) {
            add_arguments(*call, slots, losing.freeing(), found);
        }
    }
    return found;
}

llvm::DenseSet<const llvm::Instruction*>
ends_of_results(const std::vector<Temporary>& temporaries) {
    llvm::DenseSet<const llvm::Instruction*> ends;
    for (const Temporary& temporary : temporaries) {
        if (temporary.cause == Cause::never_stored) {
            ends.insert(temporary.last_use);
        }
    }
    return ends;
}

bool releases_block(const llvm::CallBase& call) {
    static const llvm::StringSet<> names = {"realloc", "reallocarray"};
    return frees_block(call) || names.contains(callee_name(call));
}

llvm::Instruction* next_after(llvm::Instruction* instruction) {
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(instruction)) {
        llvm::BasicBlock* next = invoke->getNormalDest();
        return next->getSinglePredecessor() != nullptr ? &*next->getFirstInsertionPt()
                                                       : nullptr;
    }
    return instruction->isTerminator() ? nullptr : instruction->getNextNode();
}

} // namespace leakline
