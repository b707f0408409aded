#include "stamps_expand.h"

#include "stamps_contexts.h"
#include "stamps_emit.h"
#include "stamps_layout.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <vector>

namespace leakline {

namespace {

class Expander {
  public:
    explicit Expander(llvm::Module& module)
        : module_(module), runtime_(module.getNamedGlobal("__leakline_runtime")),
          note_context_(make_note_context()), stamp_(make_stamp()), lose_(make_lose()) {
    }

    void expand(llvm::CallInst* call, llvm::Value* handed) const;

  private:
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
// function. Code that is not optimised leaves even the question to one: a value that
// is needed behind a branch would stay in its frame, like a reference.
void Expander::expand(llvm::CallInst* call, llvm::Value* handed) const {
    llvm::Value* old = call->getArgOperand(0);
    llvm::Value* site = call->getArgOperand(1);
    llvm::IRBuilder<> builder(call);
    if (call->getFunction()->hasOptNone()) {
        builder.CreateCall(lose_, {old, site, context_of(builder, *call, handed)})
            ->setCallingConv(lose_->getCallingConv());
        call->eraseFromParent();
        return;
    }
    auto* lost = llvm::SplitBlockAndInsertIfThen(is_heap_pointer(builder, old), call,
                                                 false, nullptr);
    builder.SetInsertPoint(lost);
    llvm::Value* context = context_of(builder, *call, handed);
    auto* runtime = builder.CreateLoad(builder.getPtrTy(), runtime_);
    auto* is_special = builder.CreateICmpNE(
        builder.CreateOr(builder.CreateXor(cached(builder, runtime, context), context),
                         load_mode(builder, runtime)),
        builder.getInt32(0));
    llvm::Instruction* slow = nullptr;
    llvm::Instruction* quick = nullptr;
    llvm::SplitBlockAndInsertIfThenElse(is_special, lost, &slow, &quick,
                                        rarely(module_.getContext()));
    builder.SetInsertPoint(slow);
    builder.CreateCall(stamp_, {old, site, context})
        ->setCallingConv(stamp_->getCallingConv());
    builder.SetInsertPoint(quick);
    write_stamp(builder, old, site, count(builder, runtime), context);
    call->eraseFromParent();
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

// What is known to be no heap pointer needs no code.
bool is_never_heap(llvm::Value* old) {
    if (auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(old)) {
        old = freeze->getOperand(0);
    }
    return llvm::isa<llvm::Constant>(old);
}

// Functions in the order of the module, with their notes.
using Notes = llvm::MapVector<llvm::Function*, std::vector<llvm::CallInst*>>;

Notes find_notes(llvm::Module& module, llvm::Function* lost) {
    Notes notes;
    for (llvm::Function& function : module) {
        for (llvm::Instruction& instruction : llvm::instructions(function)) {
            auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
            if (call == nullptr) {
                continue;
            }
            if (call->getCalledFunction() == lost) {
                notes[&function].push_back(call);
            } else {
                notes[&function];
            }
        }
    }
    return notes;
}

} // namespace

bool expand_stamps(llvm::Module& module) {
    llvm::Function* lost = module.getFunction(lost_name);
    if (lost == nullptr) {
        return false;
    }
    Notes notes = find_notes(module, lost);
    for (auto& [function, calls] : notes) {
        llvm::erase_if(calls, [](llvm::CallInst* call) {
            bool is_needless = is_never_heap(call->getArgOperand(0));
            if (is_needless) {
                call->eraseFromParent();
            }
            return is_needless;
        });
    }
    Contexts contexts(module);
    Expander expander(module);
    for (auto& [function, calls] : notes) {
        llvm::Value* handed = contexts.context(*function);
        for (llvm::CallInst* call : calls) {
            expander.expand(call, handed);
        }
    }
    lost->eraseFromParent();
    return true;
}

} // namespace leakline
