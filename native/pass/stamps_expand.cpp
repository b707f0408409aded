#include "stamps_expand.h"

#include "stamps_contexts.h"
#include "stamps_emit.h"
#include "stamps_layout.h"
#include "stamps_outside.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <vector>

namespace leakline {

namespace {

// Notes of one block with nothing between them that may tick the clock.
using Group = std::vector<llvm::CallInst*>;

class Expander {
  public:
    explicit Expander(llvm::Module& module)
        : module_(module), runtime_(module.getNamedGlobal("__leakline_runtime")),
          note_context_(make_note_context()), stamp_(make_stamp()), lose_(make_lose()) {
    }

    void expand(const Group& group, llvm::Value* handed) const;

  private:
    // What the notes of a group share: read at the first of them, or, when it is the
    // only one, once it is sure that it stamps.
    struct Shared {
        llvm::Value* runtime;
        llvm::Value* context;
        llvm::Value* is_special; // left to a function
    };

    Shared share(llvm::IRBuilder<>& builder, const llvm::CallInst& call,
                 llvm::Value* handed) const;
    void expand_one(llvm::CallInst* call, llvm::Value* handed) const;
    void expand_several(const Group& group, llvm::Value* handed) const;
    void leave_to_function(llvm::CallInst* call, llvm::Value* handed) const;
    void stamp(llvm::Instruction* before, llvm::CallInst* call, const Shared& shared,
               llvm::Value* clock) const;
    llvm::Function* make_helper(const char* name,
                                llvm::ArrayRef<llvm::Type*> parameters) const;
    llvm::Function* make_note_context() const;
    llvm::Function* make_stamp() const;
    llvm::Function* make_lose() const;
    llvm::Value* count(llvm::IRBuilder<>& builder, llvm::Value* runtime) const;
    llvm::Value* cached(llvm::IRBuilder<>& builder, llvm::Value* runtime,
                        llvm::Value* context) const;
    void know_context(llvm::Instruction* before, llvm::Value* runtime,
                      llvm::Value* context) const;
    void write_stamp(llvm::IRBuilder<>& builder, llvm::Value* old, llvm::Value* site,
                     llvm::Value* clock, llvm::Value* context) const;

    llvm::Module& module_;
    llvm::GlobalVariable* runtime_;
    llvm::Function* note_context_;
    llvm::Function* stamp_;
    llvm::Function* lose_;
};

llvm::Value* at(llvm::IRBuilder<>& builder, llvm::Value* base, unsigned offset) {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset);
}

llvm::Value* load_mode(llvm::IRBuilder<>& builder, llvm::Value* runtime) {
    return builder.CreateLoad(builder.getInt32Ty(), at(builder, runtime, mode_offset));
}

llvm::MDNode* rarely(llvm::LLVMContext& context) {
    return llvm::MDBuilder(context).createBranchWeights(1, 1000);
}

llvm::Value* context_of(llvm::IRBuilder<>& builder, const llvm::CallInst& call,
                        llvm::Value* handed) {
    return builder.CreateAdd(
        builder.CreateTrunc(handed, builder.getInt32Ty()),
        builder.getInt32(Contexts::number_of(*call.getFunction())));
}

// One thread with a context that is known stamps in line, all else is left to a
// function.
void Expander::expand(const Group& group, llvm::Value* handed) const {
    if (group.front()->getFunction()->hasOptNone()) {
        for (llvm::CallInst* call : group) {
            leave_to_function(call, handed);
        }
    } else if (group.size() == 1) {
        expand_one(group.front(), handed);
    } else {
        expand_several(group, handed);
    }
    for (llvm::CallInst* call : group) {
        call->eraseFromParent();
    }
}

// Code that is not optimised leaves even the question to a function: a value that is
// needed behind a branch would stay in its frame, like a reference.
void Expander::leave_to_function(llvm::CallInst* call, llvm::Value* handed) const {
    llvm::IRBuilder<> builder(call);
    builder
        .CreateCall(lose_, {call->getArgOperand(0), call->getArgOperand(1),
                            context_of(builder, *call, handed)})
        ->setCallingConv(lose_->getCallingConv());
}

void Expander::expand_one(llvm::CallInst* call, llvm::Value* handed) const {
    llvm::IRBuilder<> builder(call);
    auto* lost = llvm::SplitBlockAndInsertIfThen(
        is_heap_pointer(builder, call->getArgOperand(0)), call, false, nullptr);
    builder.SetInsertPoint(lost);
    stamp(lost, call, share(builder, *call, handed), nullptr);
}

// The clock is read and written once for all: it would be the slowest part of a stamp,
// each waiting for the one before.
void Expander::expand_several(const Group& group, llvm::Value* handed) const {
    llvm::IRBuilder<> builder(group.front());
    Shared shared = share(builder, *group.front(), handed);
    auto* place = at(builder, shared.runtime, clock_offset);
    auto* start = builder.CreateLoad(builder.getInt64Ty(), place);
    llvm::Value* clock = start;
    for (llvm::CallInst* call : group) {
        builder.SetInsertPoint(call);
        clock = builder.CreateAdd(clock, builder.getInt64(1));
        auto* lost = llvm::SplitBlockAndInsertIfThen(
            is_heap_pointer(builder, call->getArgOperand(0)), call, false, nullptr);
        stamp(lost, call, shared, clock);
    }
    builder.SetInsertPoint(group.back());
    auto* counted = llvm::SplitBlockAndInsertIfThen(
        builder.CreateNot(shared.is_special), group.back(), false,
        llvm::MDBuilder(module_.getContext()).createBranchWeights(1000, 1));
    builder.SetInsertPoint(counted);
    builder.CreateStore(clock, place);
}

Expander::Shared Expander::share(llvm::IRBuilder<>& builder, const llvm::CallInst& call,
                                 llvm::Value* handed) const {
    auto* runtime = builder.CreateLoad(builder.getPtrTy(), runtime_);
    llvm::Value* context = context_of(builder, call, handed);
    auto* is_special = builder.CreateICmpNE(
        builder.CreateOr(builder.CreateXor(cached(builder, runtime, context), context),
                         load_mode(builder, runtime)),
        builder.getInt32(0));
    return {runtime, context, is_special};
}

// Writes the stamp of a heap pointer with the time `clock`; null: ticks.
void Expander::stamp(llvm::Instruction* before, llvm::CallInst* call,
                     const Shared& shared, llvm::Value* clock) const {
    llvm::Value* old = call->getArgOperand(0);
    llvm::Value* site = call->getArgOperand(1);
    llvm::Instruction* slow = nullptr;
    llvm::Instruction* quick = nullptr;
    llvm::SplitBlockAndInsertIfThenElse(shared.is_special, before, &slow, &quick,
                                        rarely(module_.getContext()));
    llvm::IRBuilder<> builder(slow);
    builder.CreateCall(stamp_, {old, site, shared.context})
        ->setCallingConv(stamp_->getCallingConv());
    builder.SetInsertPoint(quick);
    if (clock == nullptr) {
        clock = count(builder, shared.runtime);
    }
    write_stamp(builder, old, site, clock, shared.context);
}

// Ticks the clock of a process with one thread; returns the new time.
llvm::Value* Expander::count(llvm::IRBuilder<>& builder, llvm::Value* runtime) const {
    auto* place = at(builder, runtime, clock_offset);
    auto* clock = builder.CreateAdd(builder.CreateLoad(builder.getInt64Ty(), place),
                                    builder.getInt64(1));
    builder.CreateStore(clock, place);
    return clock;
}

// Another context than the one asked for when that is not known.
llvm::Value* Expander::cached(llvm::IRBuilder<>& builder, llvm::Value* runtime,
                              llvm::Value* context) const {
    auto* cache =
        builder.CreateLoad(builder.getPtrTy(), at(builder, runtime, cache_offset));
    auto* place = builder.CreateAnd(context, builder.getInt32(context_cache_size - 1));
    return builder.CreateLoad(
        builder.getInt32Ty(),
        builder.CreateInBoundsGEP(builder.getInt32Ty(), cache,
                                  builder.CreateZExt(place, builder.getInt64Ty())));
}

void Expander::write_stamp(llvm::IRBuilder<>& builder, llvm::Value* old,
                           llvm::Value* site, llvm::Value* clock,
                           llvm::Value* context) const {
    auto* granule = builder.CreateAnd(old, builder.getInt64(~(granule_bytes - 1)));
    auto* stamp = builder.CreateIntToPtr(
        builder.CreateAdd(granule, builder.getInt64(shadow_delta)), builder.getPtrTy());
    builder.CreateStore(clock, stamp);
    builder.CreateAlignedStore(builder.CreatePtrToInt(site, builder.getInt64Ty()),
                               at(builder, stamp, site_offset), llvm::Align(1));
    builder.CreateAlignedStore(context, at(builder, stamp, context_offset),
                               llvm::Align(4));
}

// The first stamp with a context makes the runtime take the stack.
void Expander::know_context(llvm::Instruction* before, llvm::Value* runtime,
                            llvm::Value* context) const {
    llvm::IRBuilder<> builder(before);
    auto* known = cached(builder, runtime, context);
    auto* unknown =
        llvm::SplitBlockAndInsertIfThen(builder.CreateICmpNE(known, context), before,
                                        false, rarely(module_.getContext()));
    builder.SetInsertPoint(unknown);
    builder.CreateCall(note_context_, {context})
        ->setCallingConv(note_context_->getCallingConv());
}

// A function of our own that leaves its caller's registers alone.
llvm::Function* Expander::make_helper(const char* name,
                                      llvm::ArrayRef<llvm::Type*> parameters) const {
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module_.getContext()),
                                         parameters, false);
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module_);
    function->setCallingConv(llvm::CallingConv::PreserveMost);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr(llvm::Attribute::Cold);
    function->setUWTableKind(llvm::UWTableKind::Async);
    return function;
}

llvm::Function* Expander::make_note_context() const {
    llvm::IRBuilder<> builder(module_.getContext());
    auto* function = make_helper("leakline.note_context", {builder.getInt32Ty()});
    builder.SetInsertPoint(
        llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    auto* runtime = builder.CreateLoad(builder.getPtrTy(), runtime_);
    auto* hook =
        builder.CreateLoad(builder.getPtrTy(), at(builder, runtime, hook_offset));
    auto* type =
        llvm::FunctionType::get(builder.getVoidTy(), {builder.getInt32Ty()}, false);
    builder.CreateCall(type, hook, {function->getArg(0)});
    builder.CreateRetVoid();
    return function;
}

// Counts and stamps, as the mode has it. One thread alone needs no locked instruction.
llvm::Function* Expander::make_stamp() const {
    llvm::LLVMContext& context = module_.getContext();
    llvm::IRBuilder<> builder(context);
    auto* function =
        make_helper("leakline.stamp",
                    {builder.getInt64Ty(), builder.getPtrTy(), builder.getInt32Ty()});
    auto block = [&](const char* name) {
        return llvm::BasicBlock::Create(context, name, function);
    };
    auto* entry = block("entry");
    auto* alone = block("alone");
    auto* special = block("special");
    auto* shared = block("shared");
    auto* stamp = block("stamp");
    auto* done = block("done");

    builder.SetInsertPoint(entry);
    auto* runtime = builder.CreateLoad(builder.getPtrTy(), runtime_);
    auto* mode = load_mode(builder, runtime);
    builder.CreateCondBr(builder.CreateICmpNE(mode, builder.getInt32(single_thread)),
                         special, alone, rarely(context));

    builder.SetInsertPoint(alone);
    auto* next = count(builder, runtime);
    builder.CreateBr(stamp);

    builder.SetInsertPoint(special);
    builder.CreateCondBr(builder.CreateICmpEQ(mode, builder.getInt32(threads)), shared,
                         done);
    builder.SetInsertPoint(shared);
    auto* before = builder.CreateAtomicRMW(
        llvm::AtomicRMWInst::Add, at(builder, runtime, clock_offset),
        builder.getInt64(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    auto* behind = builder.CreateAdd(before, builder.getInt64(1));
    builder.CreateBr(stamp);

    builder.SetInsertPoint(stamp);
    auto* clock = builder.CreatePHI(builder.getInt64Ty(), 2);
    clock->addIncoming(next, alone);
    clock->addIncoming(behind, shared);
    write_stamp(builder, function->getArg(0), function->getArg(1), clock,
                function->getArg(2));
    auto* end = builder.CreateBr(done);
    know_context(end, runtime, function->getArg(2));
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

// Stamps if what was lost is a heap pointer.
llvm::Function* Expander::make_lose() const {
    llvm::LLVMContext& context = module_.getContext();
    llvm::IRBuilder<> builder(context);
    auto* function =
        make_helper("leakline.lose",
                    {builder.getInt64Ty(), builder.getPtrTy(), builder.getInt32Ty()});
    auto* entry = llvm::BasicBlock::Create(context, "entry", function);
    auto* lost = llvm::BasicBlock::Create(context, "lost", function);
    auto* done = llvm::BasicBlock::Create(context, "done", function);
    builder.SetInsertPoint(entry);
    builder.CreateCondBr(is_heap_pointer(builder, function->getArg(0)), lost, done);
    builder.SetInsertPoint(lost);
    builder
        .CreateCall(stamp_,
                    {function->getArg(0), function->getArg(1), function->getArg(2)})
        ->setCallingConv(stamp_->getCallingConv());
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

bool is_never_heap(llvm::Value* old) {
    if (auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(old)) {
        old = freeze->getOperand(0);
    }
    return llvm::isa<llvm::Constant>(old);
}

// Functions in the order of the module, with their notes. Those without any may still
// have contexts to hand on.
using Notes = llvm::MapVector<llvm::Function*, std::vector<Group>>;

// False for what may note losses of its own, and so tick the clock.
bool keeps_clock(const llvm::Instruction& instruction, const llvm::Function* lost) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call == nullptr || call->isInlineAsm() ||
           llvm::isa<llvm::IntrinsicInst>(call) || call->getCalledFunction() == lost;
}

// LLVM 19 may place what is read at the start of a landing pad before its label, where
// it is never run: notes are on their own there.
void find_groups(llvm::BasicBlock& block, const llvm::Function* lost,
                 std::vector<Group>& groups) {
    Group group;
    auto finish = [&] {
        if (!group.empty()) {
            groups.push_back(std::move(group));
            group = {};
        }
    };
    for (llvm::Instruction& instruction : block) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call != nullptr && call->getCalledFunction() == lost) {
            group.push_back(call);
        }
        if (!keeps_clock(instruction, lost) || block.isLandingPad()) {
            finish();
        }
    }
    finish();
}

// What is known to be no heap pointer needs no code.
void erase_needless(llvm::Function* lost) {
    for (llvm::User* user : llvm::make_early_inc_range(lost->users())) {
        auto* call = llvm::cast<llvm::CallInst>(user);
        if (is_never_heap(call->getArgOperand(0))) {
            call->eraseFromParent();
        }
    }
}

Notes find_notes(llvm::Module& module, const llvm::Function* lost) {
    Notes notes;
    for (llvm::Function& function : module) {
        for (llvm::BasicBlock& block : function) {
            find_groups(block, lost, notes[&function]);
        }
    }
    return notes;
}

} // namespace

bool expand_stamps(llvm::Module& module) {
    place_outside_notes(module);
    llvm::Function* lost = module.getFunction(lost_name);
    if (lost == nullptr) {
        return false;
    }
    erase_needless(lost);
    Notes notes = find_notes(module, lost);
    Contexts contexts(module);
    Expander expander(module);
    for (auto& [function, groups] : notes) {
        llvm::Value* handed = contexts.context(*function);
        for (const Group& group : groups) {
            expander.expand(group, handed);
        }
    }
    lost->eraseFromParent();
    return true;
}

} // namespace leakline
