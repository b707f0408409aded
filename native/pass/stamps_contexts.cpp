#include "stamps_contexts.h"

#include "stamps_callees.h"
#include "stamps_emit.h"
#include "stamps_losing.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/xxhash.h"

#include <vector>

namespace leakline {

namespace {

// Calls that can neither stamp nor call back.
bool ends_here(const llvm::CallBase& call) {
    if (llvm::isa<llvm::IntrinsicInst>(call) || call.isInlineAsm()) {
        return true;
    }
    const llvm::Function* callee = callee_of(call);
    return callee != nullptr && callee->isDeclaration() &&
           is_harmless_library_function(callee->getName());
}

// Becomes a stamp of the function itself.
bool is_note(const llvm::CallBase& call) {
    const llvm::Function* callee = callee_of(call);
    return callee != nullptr &&
           (callee->getName() == lost_name || callee->getName() == lost_from_name ||
            callee->getName() == born_name);
}

// Calls that the runtime itself answers, with the stack of whoever called.
bool calls_heap(const llvm::CallBase& call) {
    static const llvm::StringSet<> names = {
        "malloc",        "calloc",         "realloc", "reallocarray", "free",
        "aligned_alloc", "posix_memalign", "valloc",  "memalign",     "cfree"};
    const llvm::Function* callee = callee_of(call);
    if (callee == nullptr || !callee->isDeclaration()) {
        return false;
    }
    llvm::StringRef name = callee->getName();
    return names.contains(name) || name.starts_with("_Znw") ||
           name.starts_with("_Zna") || name.starts_with("_Zdl") ||
           name.starts_with("_Zda");
}

// A jump instead of a call would take the frame of whoever asks off the stack.
void stay_on_stack(llvm::CallBase& call) {
    auto* plain = llvm::dyn_cast<llvm::CallInst>(&call);
    if (plain != nullptr && !plain->isMustTailCall()) {
        plain->setTailCallKind(llvm::CallInst::TCK_NoTail);
    }
}

} // namespace

llvm::GlobalVariable* handed_variable(llvm::Module& module, llvm::StringRef name) {
    if (llvm::GlobalVariable* known = module.getNamedGlobal(name)) {
        return known;
    }
    auto* type = llvm::Type::getInt64Ty(module.getContext());
    auto* variable = new llvm::GlobalVariable(
        module, type, false, llvm::GlobalValue::LinkOnceODRLinkage,
        llvm::ConstantInt::get(type, 0), name, nullptr,
        llvm::GlobalValue::InitialExecTLSModel);
    variable->setComdat(module.getOrInsertComdat(name));
    return variable;
}

Contexts::Contexts(llvm::Module& module)
    : module_(module), current_(handed_variable(module, "__leakline_context")),
      allocating_(handed_variable(module, allocating_name)),
      seed_(llvm::xxHash64(module.getModuleIdentifier())) {
    number_recursions();
    find_askers();
}

llvm::Value* Contexts::context(llvm::Function& function) {
    if (function.hasFnAttribute(passes_context)) {
        return nullptr;
    }
    llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    auto* handed = builder.CreateLoad(builder.getInt64Ty(),
                                      builder.CreateThreadLocalAddress(current_));
    hand_on(function, handed);
    return handed;
}

uint32_t Contexts::number_of(const llvm::Function& function) {
    return static_cast<uint32_t>(llvm::xxHash64(function.getName()));
}

void Contexts::hand_on(llvm::Function& function, llvm::Value* handed) {
    std::vector<llvm::CallBase*> calls;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call != nullptr && (calls_heap(*call) || is_handed(*call))) {
            calls.push_back(call);
        }
    }
    for (llvm::CallBase* call : calls) {
        llvm::IRBuilder<> builder(call);
        if (calls_heap(*call)) {
            hand_to_heap(*call, handed);
        } else {
            builder.CreateStore(may_recur(function, *call) ? handed
                                                           : next(builder, handed),
                                builder.CreateThreadLocalAddress(current_));
        }
    }
}

// A program may have such a function of its own, which then asks as all others do. In a
// recursion, the last step of it is worth to be told apart: it costs the runtime more
// to look at it.
void Contexts::hand_to_heap(llvm::CallBase& call, llvm::Value* handed) {
    llvm::IRBuilder<> builder(&call);
    llvm::Value* context = next(builder, handed);
    llvm::Value* told = context;
    if (recurs(*call.getFunction())) {
        auto* caller = builder.CreateIntrinsic(llvm::Intrinsic::returnaddress, {},
                                               {builder.getInt32(0)});
        told = builder.CreateAdd(context,
                                 builder.CreatePtrToInt(caller, context->getType()));
    }
    builder.CreateStore(told, builder.CreateThreadLocalAddress(allocating_));
    stay_on_stack(call);
    if (!ends_here(call)) {
        builder.CreateStore(context, builder.CreateThreadLocalAddress(current_));
    }
}

llvm::Value* Contexts::next(llvm::IRBuilder<>& builder, llvm::Value* handed) {
    uint64_t number = (seed_ + ++calls_ * 0x9e3779b97f4a7c15) >> 33;
    return builder.CreateAdd(builder.CreateMul(handed, builder.getInt64(3)),
                             builder.getInt64(number));
}

// Starts from the belief that nobody asks.
void Contexts::find_askers() {
    bool changed = true;
    while (changed) {
        changed = false;
        for (const llvm::Function& function : module_) {
            if (!askers_.contains(&function) && asks(function)) {
                askers_.insert(&function);
                changed = true;
            }
        }
    }
}

bool Contexts::asks(const llvm::Function& function) const {
    return llvm::any_of(
        llvm::instructions(function), [&](const llvm::Instruction& instruction) {
            auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            return call != nullptr &&
                   (is_note(*call) || calls_heap(*call) || is_handed(*call));
        });
}

bool Contexts::is_handed(const llvm::CallBase& call) const {
    const llvm::Function* callee = callee_of(call);
    return !ends_here(call) && !is_note(call) &&
           (callee == nullptr || !callee->hasExactDefinition() ||
            askers_.contains(callee));
}

bool Contexts::may_recur(const llvm::Function& caller,
                         const llvm::CallBase& call) const {
    const llvm::Function* callee = callee_of(call);
    if (callee == nullptr) {
        return from_outside_.lookup(&caller);
    }
    return !callee->isDeclaration() &&
           recursion_.lookup(callee) == recursion_.lookup(&caller);
}

bool Contexts::recurs(const llvm::Function& function) const {
    return llvm::any_of(llvm::instructions(function),
                        [&](const llvm::Instruction& instruction) {
                            auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
                            return call != nullptr && callee_of(*call) != nullptr &&
                                   may_recur(function, *call);
                        });
}

void Contexts::number_recursions() {
    llvm::CallGraph graph(module_);
    unsigned number = 0;
    std::vector<std::vector<llvm::CallGraphNode*>> rings;
    for (auto ring = llvm::scc_begin(&graph); !ring.isAtEnd(); ++ring) {
        number++;
        rings.push_back(*ring);
        for (llvm::CallGraphNode* node : *ring) {
            if (node->getFunction() != nullptr) {
                recursion_[node->getFunction()] = number;
            }
        }
    }
    // Callers come behind their callees, so the way back leads from callers on.
    for (auto ring = rings.rbegin(); ring != rings.rend(); ++ring) {
        for (llvm::CallGraphNode* node : *ring) {
            const llvm::Function* function = node->getFunction();
            if (function == nullptr) {
                continue;
            }
            from_outside_[function] |= function->hasAddressTaken();
            for (auto& [call, callee] : *node) {
                if (from_outside_[function] && callee->getFunction() != nullptr) {
                    from_outside_[callee->getFunction()] = true;
                }
            }
        }
    }
}

} // namespace leakline
