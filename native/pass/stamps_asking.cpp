#include "stamps_asking.h"

#include "stamps_contexts.h"
#include "stamps_layout.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/ModRef.h"

namespace leakline {

namespace {

constexpr const char* asking_name = "leakline.is_gone";

// i1(i64 value): whether no block lives there any more.
void write_asking(llvm::Function& function) {
    llvm::LLVMContext& context = function.getContext();
    llvm::IRBuilder<> builder(context);
    auto block = [&](const char* label) {
        return llvm::BasicBlock::Create(context, label, &function);
    };
    auto* entry = block("entry");
    auto* refers = block("refers");
    auto* asks = block("asks");
    auto* done = block("done");
    builder.SetInsertPoint(entry);
    builder.CreateCondBr(is_heap_pointer(builder, function.getArg(0)), refers, done);
    builder.SetInsertPoint(refers);
    auto* hook = builder.CreateLoad(
        builder.getPtrTy(), builder.CreateIntToPtr(builder.getInt64(gone_hook_address),
                                                   builder.getPtrTy()));
    builder.CreateCondBr(builder.CreateIsNull(hook), done, asks);
    builder.SetInsertPoint(asks);
    auto* type =
        llvm::FunctionType::get(builder.getInt32Ty(), {builder.getInt64Ty()}, false);
    auto* answer =
        builder.CreateIsNotNull(builder.CreateCall(type, hook, {function.getArg(0)}));
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    auto* result = builder.CreatePHI(builder.getInt1Ty(), 3);
    result->addIncoming(builder.getFalse(), entry);
    result->addIncoming(builder.getFalse(), refers);
    result->addIncoming(answer, asks);
    builder.CreateRet(result);
}

} // namespace

llvm::Function* declare_asking(llvm::Module& module) {
    if (llvm::Function* known = module.getFunction(asking_name)) {
        return known;
    }
    llvm::LLVMContext& context = module.getContext();
    auto* type = llvm::FunctionType::get(llvm::Type::getInt1Ty(context),
                                         {llvm::Type::getInt64Ty(context)}, false);
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                            asking_name, module);
    // To the program's own memory it does nothing.
    function->setMemoryEffects(
        llvm::MemoryEffects::inaccessibleMemOnly(llvm::ModRefInfo::Ref));
    for (auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::NoInline,
                           llvm::Attribute::WillReturn}) {
        function->addFnAttr(attribute);
    }
    function->addFnAttr(passes_context);
    function->setUWTableKind(llvm::UWTableKind::Async);
    write_asking(*function);
    return function;
}

} // namespace leakline
