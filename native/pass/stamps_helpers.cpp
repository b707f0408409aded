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
    : module_(module), note_context_(make_note_context()), count_(make_count()),
      stamp_(make_stamp()), lose_(make_lose()) {
}

namespace {

llvm::CallInst* call(llvm::IRBuilder<>& builder, llvm::Function* helper,
                     llvm::ArrayRef<llvm::Value*> arguments) {
    llvm::CallInst* result = builder.CreateCall(helper, arguments);
    result->setCallingConv(helper->getCallingConv());
    return result;
}

} // namespace

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

// Where the process has one thread.
static llvm::Value* count_alone(llvm::IRBuilder<>& builder, llvm::Value* ticks) {
    auto* place = fixed_place(builder, clock_address);
    auto* clock =
        builder.CreateAdd(builder.CreateLoad(builder.getInt64Ty(), place), ticks);
    builder.CreateStore(clock, place);
    return clock;
}

static llvm::Value* join(llvm::Instruction* before, llvm::Value* one,
                         llvm::BasicBlock* from_one, llvm::Value* other,
                         llvm::BasicBlock* from_other) {
    llvm::IRBuilder<> builder(before->getParent(), before->getParent()->begin());
    auto* joined = builder.CreatePHI(one->getType(), 2);
    joined->addIncoming(one, from_one);
    joined->addIncoming(other, from_other);
    return joined;
}

// A cache has another context at this one's place when it does not know it. The address
// of the cache is a number: as a pointer that never changes it would be kept in a
// register, where it can be part of the instruction that reads.
static llvm::Value* is_in_cache(llvm::IRBuilder<>& builder, llvm::Value* cache,
                                unsigned size, llvm::Value* context) {
    auto* number = builder.CreateAnd(context, builder.getInt32(size - 1));
    auto* offset = builder.CreateMul(builder.CreateZExt(number, builder.getInt64Ty()),
                                     builder.getInt64(sizeof(uint32_t)));
    auto* place =
        builder.CreateIntToPtr(builder.CreateAdd(offset, cache), builder.getPtrTy());
    return builder.CreateICmpEQ(builder.CreateLoad(builder.getInt32Ty(), place),
                                context);
}

// Code counts by itself when the process has one thread and the stack of the context is
// known: only then is it among the quick contexts.
llvm::Value* Helpers::count(llvm::Instruction* before, llvm::Value* context,
                            uint64_t ticks) const {
    llvm::IRBuilder<> builder(before);
    llvm::Value* is_quick =
        is_in_cache(builder, builder.getInt64(quick_contexts_address),
                    quick_contexts_size, context);
    llvm::Instruction* quick = nullptr;
    llvm::Instruction* slow = nullptr;
    llvm::SplitBlockAndInsertIfThenElse(is_quick, before, &quick, &slow,
                                        mostly(module_.getContext()));
    builder.SetInsertPoint(quick);
    llvm::Value* alone = count_alone(builder, builder.getInt64(ticks));
    builder.SetInsertPoint(slow);
    llvm::Value* left = call(builder, count_, {context, builder.getInt64(ticks)});
    return join(before, alone, quick->getParent(), left, slow->getParent());
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
    auto* is_unknown =
        builder.CreateNot(is_in_cache(builder, cache, context_cache_size, context));
    auto* unknown = llvm::SplitBlockAndInsertIfThen(is_unknown, before, false,
                                                    rarely(module_.getContext()));
    builder.SetInsertPoint(unknown);
    call(builder, note_context_, {context});
}

// A function of our own that leaves its caller's registers alone.
llvm::Function* Helpers::make(const char* name, llvm::Type* result,
                              llvm::ArrayRef<llvm::Type*> parameters) const {
    auto* type = llvm::FunctionType::get(result, parameters, false);
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module_);
    function->setCallingConv(llvm::CallingConv::PreserveMost);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr(llvm::Attribute::Cold);
    function->setUWTableKind(llvm::UWTableKind::Async);
    return function;
}

llvm::Function* Helpers::make(const char* name,
                              llvm::ArrayRef<llvm::Type*> parameters) const {
    return make(name, llvm::Type::getVoidTy(module_.getContext()), parameters);
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

// One thread alone needs no locked instruction.
static llvm::Value* count_in_mode(llvm::Instruction* before, llvm::Value* ticks) {
    llvm::IRBuilder<> builder(before);
    auto* mode =
        builder.CreateLoad(builder.getInt32Ty(), fixed_place(builder, mode_address));
    llvm::Instruction* alone = nullptr;
    llvm::Instruction* shared = nullptr;
    llvm::SplitBlockAndInsertIfThenElse(
        builder.CreateICmpEQ(mode, builder.getInt32(single_thread)), before, &alone,
        &shared);
    builder.SetInsertPoint(alone);
    llvm::Value* by_one = count_alone(builder, ticks);
    builder.SetInsertPoint(shared);
    auto* before_all = builder.CreateAtomicRMW(
        llvm::AtomicRMWInst::Add, fixed_place(builder, clock_address), ticks,
        llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    llvm::Value* by_many = builder.CreateAdd(before_all, ticks);
    return join(before, by_one, alone->getParent(), by_many, shared->getParent());
}

llvm::Function* Helpers::make_count() const {
    llvm::IRBuilder<> builder(module_.getContext());
    auto* function = make("leakline.count", builder.getInt64Ty(),
                          {builder.getInt32Ty(), builder.getInt64Ty()});
    builder.SetInsertPoint(
        llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    llvm::ReturnInst* end = builder.CreateRet(builder.getInt64(0));
    end->setOperand(0, count_in_mode(end, function->getArg(1)));
    know_context(end, function->getArg(0));
    return function;
}

// Counts and stamps.
llvm::Function* Helpers::make_stamp() const {
    llvm::IRBuilder<> builder(module_.getContext());
    auto* function = make("leakline.stamp", {builder.getInt64Ty(), builder.getPtrTy(),
                                             builder.getInt32Ty()});
    builder.SetInsertPoint(
        llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    llvm::ReturnInst* end = builder.CreateRetVoid();
    llvm::Value* clock = count_in_mode(end, builder.getInt64(1));
    builder.SetInsertPoint(end);
    write_stamp(builder, function->getArg(0), function->getArg(1), clock,
                function->getArg(2));
    know_context(end, function->getArg(2));
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
        call(builder, stamp_, {arguments[0], arguments[1], arguments[2]});
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
