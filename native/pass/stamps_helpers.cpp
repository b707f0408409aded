#include "stamps_helpers.h"

#include "stamps_layout.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace leakline {

namespace {

llvm::CallInst* call(llvm::IRBuilder<>& builder, llvm::Function* helper,
                     llvm::ArrayRef<llvm::Value*> arguments) {
    llvm::CallInst* result = builder.CreateCall(helper, arguments);
    result->setCallingConv(helper->getCallingConv());
    return result;
}

// The value at an address that is the same in every process.
llvm::Value* load_fixed(llvm::IRBuilder<>& builder, llvm::Type* type,
                        uint64_t address) {
    return builder.CreateLoad(
        type, builder.CreateIntToPtr(builder.getInt64(address), builder.getPtrTy()));
}

} // namespace

void Helpers::call_lose_from(llvm::IRBuilder<>& builder,
                             llvm::ArrayRef<llvm::Value*> arguments) {
    if (lose_from_ == nullptr) {
        lose_from_ = make("leakline.lose_from", lose_hook_address, true);
    }
    call(builder, lose_from_, arguments);
}

void Helpers::call_bear(llvm::IRBuilder<>& builder,
                        llvm::ArrayRef<llvm::Value*> arguments) {
    if (bear_ == nullptr) {
        bear_ = make("leakline.bear", bear_hook_address, false);
    }
    call(builder, bear_, arguments);
}

// The first stamp with a context makes the runtime take the stack. The cache has
// another context at this one's place when it does not know it.
void Helpers::know_context(llvm::Instruction* before, llvm::Value* context) const {
    llvm::IRBuilder<> builder(before);
    auto* cache = load_fixed(builder, builder.getPtrTy(), cache_address);
    auto* number = builder.CreateAnd(context, builder.getInt32(context_cache_size - 1));
    auto* place = builder.CreateInBoundsGEP(
        builder.getInt32Ty(), cache, builder.CreateZExt(number, builder.getInt64Ty()));
    auto* is_unknown =
        builder.CreateICmpNE(builder.CreateLoad(builder.getInt32Ty(), place), context);
    auto* unknown = llvm::SplitBlockAndInsertIfThen(
        is_unknown, before, false,
        llvm::MDBuilder(module_.getContext()).createBranchWeights(1, 1000));
    builder.SetInsertPoint(unknown);
    call(builder, code_.note_context(), {context});
}

// As code without births does.
void Helpers::stamp(llvm::IRBuilder<>& builder, llvm::Function& function) const {
    llvm::IRBuilder<> start(&*function.getEntryBlock().begin());
    auto* context = start.CreateAlloca(start.getInt32Ty());
    builder.CreateStore(function.getArg(2), context);
    code_.write_call(builder,
                     {function.getArg(0), function.getArg(1), builder.getInt64(0)},
                     context);
}

// Leaves a heap pointer to a hook of the runtime, which is null when births are not
// wanted.
llvm::Function* Helpers::make(const char* name, uint64_t hook_address,
                              bool stamps_without_hook) const {
    llvm::LLVMContext& context = module_.getContext();
    llvm::IRBuilder<> builder(context);
    auto* type = llvm::FunctionType::get(builder.getVoidTy(),
                                         {builder.getInt64Ty(), builder.getInt64Ty(),
                                          builder.getInt32Ty(), builder.getPtrTy()},
                                         false);
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module_);
    function->setCallingConv(llvm::CallingConv::PreserveMost);
    for (auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::NoInline,
                           llvm::Attribute::Cold}) {
        function->addFnAttr(attribute);
    }
    function->setUWTableKind(llvm::UWTableKind::Async);
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
    auto* hook = load_fixed(builder, builder.getPtrTy(), hook_address);
    builder.CreateCondBr(builder.CreateIsNull(hook), unhooked, hooked);

    builder.SetInsertPoint(unhooked);
    if (stamps_without_hook) {
        stamp(builder, *function);
    }
    builder.CreateBr(done);

    builder.SetInsertPoint(hooked);
    auto* first = builder.CreatePtrToInt(code_.sites(), builder.getInt64Ty());
    auto* address = builder.CreateAdd(first, arguments[1]);
    builder.CreateCall(type, hook, {arguments[0], address, arguments[2], arguments[3]});
    know_context(builder.CreateBr(done), arguments[2]);
    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

} // namespace leakline
