#include "stamps_helpers.h"

#include "stamps_layout.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace leakline {

llvm::Value* at(llvm::IRBuilder<>& builder, llvm::Value* base, unsigned offset) {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset);
}

llvm::Value* load_mode(llvm::IRBuilder<>& builder, llvm::Value* runtime) {
    return builder.CreateLoad(builder.getInt32Ty(), at(builder, runtime, mode_offset));
}

llvm::MDNode* rarely(llvm::LLVMContext& context) {
    return llvm::MDBuilder(context).createBranchWeights(1, 1000);
}

Helpers::Helpers(llvm::Module& module)
    : module_(module), runtime_(module.getNamedGlobal("__leakline_runtime")),
      note_context_(make_note_context()), stamp_(make_stamp()), lose_(make_lose()) {
}

namespace {

void call(llvm::IRBuilder<>& builder, llvm::Function* helper,
          llvm::ArrayRef<llvm::Value*> arguments) {
    builder.CreateCall(helper, arguments)->setCallingConv(helper->getCallingConv());
}

} // namespace

void Helpers::call_stamp(llvm::IRBuilder<>& builder,
                         llvm::ArrayRef<llvm::Value*> arguments) const {
    call(builder, stamp_, arguments);
}

void Helpers::call_lose(llvm::IRBuilder<>& builder,
                        llvm::ArrayRef<llvm::Value*> arguments) const {
    call(builder, lose_, arguments);
}

void Helpers::call_lose_from(llvm::IRBuilder<>& builder,
                             llvm::ArrayRef<llvm::Value*> arguments) {
    if (lose_from_ == nullptr) {
        lose_from_ = make_for_slot("leakline.lose_from", lose_hook_offset, true);
    }
    call(builder, lose_from_, arguments);
}

void Helpers::call_bear(llvm::IRBuilder<>& builder,
                        llvm::ArrayRef<llvm::Value*> arguments) {
    if (bear_ == nullptr) {
        bear_ = make_for_slot("leakline.bear", bear_hook_offset, false);
    }
    call(builder, bear_, arguments);
}

llvm::Value* Helpers::load_runtime(llvm::IRBuilder<>& builder) const {
    return builder.CreateLoad(builder.getPtrTy(), runtime_);
}

llvm::Value* Helpers::count(llvm::IRBuilder<>& builder, llvm::Value* runtime) {
    auto* place = at(builder, runtime, clock_offset);
    auto* clock = builder.CreateAdd(builder.CreateLoad(builder.getInt64Ty(), place),
                                    builder.getInt64(1));
    builder.CreateStore(clock, place);
    return clock;
}

llvm::Value* Helpers::cached(llvm::IRBuilder<>& builder, llvm::Value* runtime,
                             llvm::Value* context) {
    auto* cache =
        builder.CreateLoad(builder.getPtrTy(), at(builder, runtime, cache_offset));
    auto* place = builder.CreateAnd(context, builder.getInt32(context_cache_size - 1));
    return builder.CreateLoad(
        builder.getInt32Ty(),
        builder.CreateInBoundsGEP(builder.getInt32Ty(), cache,
                                  builder.CreateZExt(place, builder.getInt64Ty())));
}

void Helpers::write_stamp(llvm::IRBuilder<>& builder, llvm::Value* old,
                          llvm::Value* site, llvm::Value* clock, llvm::Value* context) {
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
void Helpers::know_context(llvm::Instruction* before, llvm::Value* runtime,
                           llvm::Value* context) const {
    llvm::IRBuilder<> builder(before);
    auto* known = cached(builder, runtime, context);
    auto* unknown =
        llvm::SplitBlockAndInsertIfThen(builder.CreateICmpNE(known, context), before,
                                        false, rarely(module_.getContext()));
    builder.SetInsertPoint(unknown);
    call(builder, note_context_, {context});
}

// A function of our own that leaves its caller's registers alone.
llvm::Function* Helpers::make(const char* name,
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

llvm::Function* Helpers::make_note_context() const {
    llvm::IRBuilder<> builder(module_.getContext());
    auto* function = make("leakline.note_context", {builder.getInt32Ty()});
    builder.SetInsertPoint(
        llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    auto* runtime = load_runtime(builder);
    auto* hook =
        builder.CreateLoad(builder.getPtrTy(), at(builder, runtime, hook_offset));
    auto* type =
        llvm::FunctionType::get(builder.getVoidTy(), {builder.getInt32Ty()}, false);
    builder.CreateCall(type, hook, {function->getArg(0)});
    builder.CreateRetVoid();
    return function;
}

// Counts and stamps, as the mode has it. One thread alone needs no locked instruction.
llvm::Function* Helpers::make_stamp() const {
    llvm::LLVMContext& context = module_.getContext();
    llvm::IRBuilder<> builder(context);
    auto* function = make("leakline.stamp", {builder.getInt64Ty(), builder.getPtrTy(),
                                             builder.getInt32Ty()});
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
    auto* runtime = load_runtime(builder);
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
llvm::Function* Helpers::make_lose() const {
    llvm::LLVMContext& context = module_.getContext();
    llvm::IRBuilder<> builder(context);
    auto* function = make("leakline.lose", {builder.getInt64Ty(), builder.getPtrTy(),
                                            builder.getInt32Ty()});
    auto* entry = llvm::BasicBlock::Create(context, "entry", function);
    auto* lost = llvm::BasicBlock::Create(context, "lost", function);
    auto* done = llvm::BasicBlock::Create(context, "done", function);
    builder.SetInsertPoint(entry);
    builder.CreateCondBr(is_heap_pointer(builder, function->getArg(0)), lost, done);
    builder.SetInsertPoint(lost);
    call_stamp(builder,
               {function->getArg(0), function->getArg(1), function->getArg(2)});
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

// Leaves a heap pointer to a hook of the runtime, which is null when births are not
// wanted.
llvm::Function* Helpers::make_for_slot(const char* name, unsigned offset,
                                       bool stamps_without_hook) const {
    llvm::LLVMContext& context = module_.getContext();
    llvm::IRBuilder<> builder(context);
    auto* function = make(name, {builder.getInt64Ty(), builder.getPtrTy(),
                                 builder.getInt32Ty(), builder.getPtrTy()});
    auto block = [&](const char* label) {
        return llvm::BasicBlock::Create(context, label, function);
    };
    auto* entry = block("entry");
    auto* refers = block("refers");
    auto* hooked = block("hooked");
    auto* unhooked = block("unhooked");
    auto* done = block("done");
    llvm::SmallVector<llvm::Value*> arguments;
    for (llvm::Argument& argument : function->args()) {
        arguments.push_back(&argument);
    }

    builder.SetInsertPoint(entry);
    builder.CreateCondBr(is_heap_pointer(builder, arguments[0]), refers, done);
    builder.SetInsertPoint(refers);
    auto* runtime = load_runtime(builder);
    auto* hook = builder.CreateLoad(builder.getPtrTy(), at(builder, runtime, offset));
    builder.CreateCondBr(builder.CreateIsNull(hook), unhooked, hooked);

    builder.SetInsertPoint(unhooked);
    if (stamps_without_hook) {
        call_stamp(builder, {arguments[0], arguments[1], arguments[2]});
    }
    builder.CreateBr(done);

    builder.SetInsertPoint(hooked);
    builder.CreateCall(function->getFunctionType(), hook, arguments);
    know_context(builder.CreateBr(done), runtime, arguments[2]);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

} // namespace leakline
