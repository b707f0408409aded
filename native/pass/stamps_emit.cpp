#include "stamps_emit.h"

#include "stamps_layout.h"
#include "stamps_outside.h"

#include "llvm/IR/Constants.h"

namespace leakline {

namespace {

llvm::Value* as_bits(llvm::IRBuilder<>& builder, llvm::Value* value) {
    llvm::Type* bits = builder.getInt64Ty();
    if (value->getType()->isPointerTy()) {
        value = builder.CreatePtrToInt(value, bits);
    } else if (value->getType() != bits) {
        value = builder.CreateBitCast(value, bits);
    }
    // Memory that nobody wrote to yet may read as anything, but must read as something.
    return builder.CreateFreeze(value);
}

} // namespace

llvm::Function* declare_note(llvm::Module& module, const char* name) {
    if (llvm::Function* known = module.getFunction(name)) {
        return known;
    }
    llvm::LLVMContext& context = module.getContext();
    auto* type = llvm::FunctionType::get(
        llvm::Type::getVoidTy(context),
        {llvm::Type::getInt64Ty(context), llvm::PointerType::getUnqual(context)},
        false);
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
    function->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
    for (auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn,
                           llvm::Attribute::NoSync, llvm::Attribute::NoFree,
                           llvm::Attribute::NoCallback}) {
        function->addFnAttr(attribute);
    }
    return function;
}

Emitter::Emitter(llvm::Module& module)
    : module_(module), lost_(declare_note(module, lost_name)),
      lost_outside_(declare_note(module, lost_outside_name)),
      take_(make_scan("leakline.take", true)),
      scan_(make_scan("leakline.scan", false)) {
}

void Emitter::note(llvm::Function* note, llvm::Instruction* before, llvm::Value* old,
                   llvm::Value* site, llvm::DebugLoc where) const {
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(where);
    builder.CreateCall(note, {as_bits(builder, old), site});
}

void Emitter::lost(llvm::Instruction* before, llvm::Value* old, llvm::Value* site,
                   llvm::DebugLoc where) const {
    note(lost_, before, old, site, where);
}

void Emitter::lost_outside(llvm::Instruction* before, llvm::Value* old,
                           llvm::Value* site, llvm::DebugLoc where) const {
    note(lost_outside_, before, old, site, where);
}

llvm::LoadInst* Emitter::lost_at(llvm::Instruction* before, llvm::Value* address,
                                 llvm::Align align, llvm::Value* site,
                                 llvm::DebugLoc where) const {
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(where);
    auto* old = builder.CreateAlignedLoad(builder.getInt64Ty(), address, align);
    lost(before, old, site, where);
    return old;
}

void Emitter::lost_in(llvm::Instruction* before, llvm::Value* start, llvm::Value* bytes,
                      llvm::Value* site, llvm::DebugLoc where) const {
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(where);
    builder.CreateCall(take_, {start, bytes, site});
}

void Emitter::copied_over(llvm::Instruction* before, llvm::Value* start,
                          llvm::Value* bytes, llvm::Value* site,
                          llvm::DebugLoc where) const {
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(where);
    builder.CreateCall(scan_, {start, bytes, site});
}

// void scan(void* start, size_t bytes, site) {
//     for (word = aligned start; word + 1 <= end; word++)
//         if (is_heap(*word)) { lost(*word, site); [*word = 0;] }
// }
llvm::Function* Emitter::make_scan(const char* name, bool clears) const {
    llvm::LLVMContext& context = module_.getContext();
    llvm::IRBuilder<> builder(context);
    llvm::Type* bits = builder.getInt64Ty();
    auto* type = llvm::FunctionType::get(
        builder.getVoidTy(), {builder.getPtrTy(), bits, builder.getPtrTy()}, false);
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::NoInline);
    function->setUWTableKind(llvm::UWTableKind::Async);
    auto* entry = llvm::BasicBlock::Create(context, "entry", function);
    auto* head = llvm::BasicBlock::Create(context, "head", function);
    auto* body = llvm::BasicBlock::Create(context, "body", function);
    auto* found = llvm::BasicBlock::Create(context, "found", function);
    auto* next = llvm::BasicBlock::Create(context, "next", function);
    auto* done = llvm::BasicBlock::Create(context, "done", function);

    builder.SetInsertPoint(entry);
    auto* start = builder.CreatePtrToInt(function->getArg(0), bits);
    auto* end = builder.CreateAdd(start, function->getArg(1));
    auto* first = builder.CreateAnd(builder.CreateAdd(start, builder.getInt64(7)),
                                    builder.getInt64(~uint64_t{7}));
    builder.CreateBr(head);

    builder.SetInsertPoint(head);
    auto* at = builder.CreatePHI(bits, 2);
    at->addIncoming(first, entry);
    auto* behind = builder.CreateAdd(at, builder.getInt64(8));
    builder.CreateCondBr(builder.CreateICmpULE(behind, end), body, done);

    builder.SetInsertPoint(body);
    auto* address = builder.CreateIntToPtr(at, builder.getPtrTy());
    auto* word =
        builder.CreateFreeze(builder.CreateAlignedLoad(bits, address, llvm::Align(8)));
    builder.CreateCondBr(is_heap_pointer(builder, word), found, next);

    builder.SetInsertPoint(found);
    builder.CreateCall(lost_, {word, function->getArg(2)});
    if (clears) {
        builder.CreateAlignedStore(builder.getInt64(0), address, llvm::Align(8));
    }
    builder.CreateBr(next);

    builder.SetInsertPoint(next);
    at->addIncoming(behind, next);
    builder.CreateBr(head);

    builder.SetInsertPoint(done);
    builder.CreateRetVoid();
    return function;
}

} // namespace leakline
