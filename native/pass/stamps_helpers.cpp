#include "stamps_helpers.h"

#include "stamps_layout.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace leakline {

llvm::Value* fixed_place(llvm::IRBuilder<>& builder, uint64_t address) {
    return builder.CreateIntToPtr(builder.getInt64(address), builder.getPtrTy());
}

llvm::MDNode* rarely(llvm::LLVMContext& context) {
    return llvm::MDBuilder(context).createBranchWeights(1, 1000);
}

llvm::MDNode* mostly(llvm::LLVMContext& context) {
    return llvm::MDBuilder(context).createBranchWeights(1000, 1);
}

Helpers::Helpers(llvm::Module& module)
    : module_(module), note_context_(make_note_context()), stamp_(make_stamp()),
      lose_(make_lose()) {
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
        lose_from_ = make_for_slot("leakline.lose_from", lose_hook_address, true);
    }
    call(builder, lose_from_, arguments);
}

void Helpers::call_bear(llvm::IRBuilder<>& builder,
                        llvm::ArrayRef<llvm::Value*> arguments) {
    if (bear_ == nullptr) {
        bear_ = make_for_slot("leakline.bear", bear_hook_address, false);
    }
    call(builder, bear_, arguments);
}

llvm::Value* Helpers::count(llvm::IRBuilder<>& builder) {
    auto* place = fixed_place(builder, clock_address);
    auto* clock = builder.CreateAdd(builder.CreateLoad(builder.getInt64Ty(), place),
                                    builder.getInt64(1));
    builder.CreateStore(clock, place);
    return clock;
}

// A cache has another context at this one's place when it does not know it. The address
// of the cache is a number: as a pointer that never changes it would be kept in a
// register, where it can be part of the instruction that reads.
static llvm::Value* is_in_cache(llvm::IRBuilder<>& builder, llvm::Value* cache,
                                llvm::Value* context) {
    auto* number = builder.CreateAnd(context, builder.getInt32(context_cache_size - 1));
    auto* offset = builder.CreateMul(builder.CreateZExt(number, builder.getInt64Ty()),
                                     builder.getInt64(sizeof(uint32_t)));
    auto* place =
        builder.CreateIntToPtr(builder.CreateAdd(offset, cache), builder.getPtrTy());
    return builder.CreateICmpEQ(builder.CreateLoad(builder.getInt32Ty(), place),
                                context);
}

llvm::Value* Helpers::is_quick(llvm::IRBuilder<>& builder, llvm::Value* context) {
    return is_in_cache(builder, builder.getInt64(quick_contexts_address), context);
}

void Helpers::write_stamp(llvm::IRBuilder<>& builder, llvm::Value* old,
                          llvm::Value* site, llvm::Value* clock, llvm::Value* context) {
    auto* granule = builder.CreateAnd(old, builder.getInt64(~(granule_bytes - 1)));
    auto* stamp = builder.CreateIntToPtr(
        builder.CreateAdd(granule, builder.getInt64(shadow_delta)), builder.getPtrTy());
    auto behind = [&](unsigned offset) {
        return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), stamp, offset);
    };
    builder.CreateStore(clock, stamp);
    builder.CreateAlignedStore(builder.CreatePtrToInt(site, builder.getInt64Ty()),
                               behind(site_offset), llvm::Align(1));
    builder.CreateAlignedStore(context, behind(context_offset), llvm::Align(4));
}

// The first stamp with a context makes the runtime take the stack.
void Helpers::know_context(llvm::Instruction* before, llvm::Value* context) const {
    llvm::IRBuilder<> builder(before);
    auto* cache =
        builder.CreateLoad(builder.getInt64Ty(), fixed_place(builder, cache_address));
    auto* is_unknown = builder.CreateNot(is_in_cache(builder, cache, context));
    auto* unknown = llvm::SplitBlockAndInsertIfThen(is_unknown, before, false,
                                                    rarely(module_.getContext()));
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
    auto* hook =
        builder.CreateLoad(builder.getPtrTy(), fixed_place(builder, hook_address));
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
    auto* shared = block("shared");
    auto* stamp = block("stamp");
    auto* done = block("done");

    builder.SetInsertPoint(entry);
    auto* mode =
        builder.CreateLoad(builder.getInt32Ty(), fixed_place(builder, mode_address));
    builder.CreateCondBr(builder.CreateICmpEQ(mode, builder.getInt32(single_thread)),
                         alone, shared);

    builder.SetInsertPoint(alone);
    auto* next = count(builder);
    builder.CreateBr(stamp);

    builder.SetInsertPoint(shared);
    auto* before = builder.CreateAtomicRMW(
        llvm::AtomicRMWInst::Add, fixed_place(builder, clock_address),
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
    know_context(end, function->getArg(2));
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

// Stamps if what was lost is a heap pointer. It leaves its frame to the function that
// does, so that the stack of every context has one function of ours inside of the one
// that lost.
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
    auto* stamping = builder.CreateCall(
        stamp_, {function->getArg(0), function->getArg(1), function->getArg(2)});
    stamping->setCallingConv(stamp_->getCallingConv());
    stamping->setTailCallKind(llvm::CallInst::TCK_MustTail);
    builder.CreateRetVoid();
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

// Leaves a heap pointer to a hook of the runtime, which is null when births are not
// wanted.
llvm::Function* Helpers::make_for_slot(const char* name, uint64_t hook_address,
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
    auto* hook =
        builder.CreateLoad(builder.getPtrTy(), fixed_place(builder, hook_address));
    builder.CreateCondBr(builder.CreateIsNull(hook), unhooked, hooked);

    builder.SetInsertPoint(unhooked);
    if (stamps_without_hook) {
        call_stamp(builder, {arguments[0], arguments[1], arguments[2]});
    }
    builder.CreateBr(done);

    builder.SetInsertPoint(hooked);
    builder.CreateCall(function->getFunctionType(), hook, arguments);
    know_context(builder.CreateBr(done), arguments[2]);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

} // namespace leakline
