#include "stamps_emit.h"

#include "stamps_outside.h"
#include "stamps_scan.h"

#include "llvm/IR/Constants.h"
#include "llvm/Support/ModRef.h"

namespace leakline {

namespace {

llvm::Value* as_bits(llvm::IRBuilder<>& builder, llvm::Value* value) {
    return builder.CreateBitOrPointerCast(value, builder.getInt64Ty());
}

// Memory that nobody wrote to yet may read as anything, but must read as something.
llvm::Value* as_settled_bits(llvm::IRBuilder<>& builder, llvm::Value* value) {
    return builder.CreateFreeze(as_bits(builder, value));
}

llvm::Value* unless(llvm::IRBuilder<>& builder, llvm::Value* gone, llvm::Value* old) {
    return gone == nullptr ? old : builder.CreateSelect(gone, builder.getInt64(0), old);
}

} // namespace

llvm::Function* declare_note(llvm::Module& module, const char* name) {
    if (llvm::Function* known = module.getFunction(name)) {
        return known;
    }
    llvm::LLVMContext& context = module.getContext();
    auto* place = llvm::PointerType::getUnqual(context);
    llvm::Type* bits = llvm::Type::getInt64Ty(context);
    bool tells_slot = name == lost_from_name || name == born_name;
    llvm::SmallVector<llvm::Type*> parameters = {bits, bits, tells_slot ? place : bits};
    auto* type =
        llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false);
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
    function->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
    for (auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn,
                           llvm::Attribute::NoSync, llvm::Attribute::NoFree,
                           llvm::Attribute::NoCallback}) {
        function->addFnAttr(attribute);
    }
    // A note is no call in the end: counted as one, it would keep functions from being
    // inlined that are without notes. It counts as two instructions, since what is
    // inlined takes its notes along.
    function->addFnAttr("call-inline-cost", "10");
    return function;
}

Emitter::Emitter(llvm::Module& module, MemoryBirths births)
    : lost_(declare_note(module, lost_name)),
      lost_outside_(declare_note(module, lost_outside_name)) {
    if (births == MemoryBirths::noted) {
        lost_from_ = declare_note(module, lost_from_name);
        born_ = declare_note(module, born_name);
        bear_all_ = make_bear_all(module, born_);
    }
    llvm::Function* mark = lost_from_ != nullptr ? lost_from_ : lost_;
    take_ = make_take(mark);
    copy_over_ = make_copy_over(mark);
}

void Emitter::note(llvm::Function* note, llvm::Instruction* before, llvm::Value* old,
                   llvm::Value* given, llvm::Value* site, llvm::DebugLoc where) const {
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(where);
    builder.CreateCall(note,
                       {as_settled_bits(builder, old), site, as_bits(builder, given)});
}

void Emitter::call(llvm::Function* function, llvm::Instruction* before,
                   llvm::ArrayRef<llvm::Value*> arguments, llvm::DebugLoc where) const {
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(where);
    builder.CreateCall(function, arguments);
}

void Emitter::lost(llvm::Instruction* before, llvm::Value* old, llvm::Value* site,
                   llvm::DebugLoc where) const {
    replaced(before, old, llvm::Constant::getNullValue(old->getType()), site, where);
}

void Emitter::replaced(llvm::Instruction* before, llvm::Value* old, llvm::Value* given,
                       llvm::Value* site, llvm::DebugLoc where) const {
    note(lost_, before, old, given, site, where);
}

void Emitter::replaced_outside(llvm::Instruction* before, llvm::Value* old,
                               llvm::Value* given, llvm::Value* site,
                               llvm::DebugLoc where) const {
    note(lost_outside_, before, old, given, site, where);
}

void Emitter::lost_from(llvm::Instruction* before, llvm::Value* old, llvm::Value* slot,
                        llvm::Value* site, llvm::DebugLoc where) const {
    if (lost_from_ == nullptr) {
        lost(before, old, site, where);
        return;
    }
    llvm::IRBuilder<> builder(before);
    call(lost_from_, before, {as_settled_bits(builder, old), site, slot}, where);
}

void Emitter::lost_at(llvm::Instruction* before, llvm::Value* address,
                      llvm::Align align, llvm::Value* site, llvm::DebugLoc where,
                      llvm::Value* gone) const {
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(where);
    auto* old = builder.CreateAlignedLoad(builder.getInt64Ty(), address, align);
    lost_from(before, unless(builder, gone, old), address, site, where);
}

void Emitter::partly_overwritten(llvm::StoreInst* store, llvm::Value* address,
                                 llvm::Value* site, llvm::Value* gone) const {
    llvm::DebugLoc where = store->getDebugLoc();
    llvm::IRBuilder<> builder(store);
    builder.SetCurrentDebugLocation(where);
    auto read = [&] {
        return builder.CreateAlignedLoad(builder.getInt64Ty(), address, llvm::Align(8));
    };
    llvm::Value* held = unless(builder, gone, read());
    builder.SetInsertPoint(store->getNextNode());
    if (lost_from_ != nullptr) {
        lost_from(&*builder.GetInsertPoint(), held, address, site, where);
    } else {
        replaced(&*builder.GetInsertPoint(), held, read(), site, where);
    }
}

void Emitter::overwritten(llvm::StoreInst* store, llvm::Value* site,
                          llvm::Value* gone) const {
    llvm::DebugLoc where = store->getDebugLoc();
    llvm::Value* slot = store->getPointerOperand();
    llvm::IRBuilder<> builder(store);
    builder.SetCurrentDebugLocation(where);
    auto* old =
        builder.CreateAlignedLoad(builder.getInt64Ty(), slot, store->getAlign());
    old->setMetadata(llvm::LLVMContext::MD_tbaa,
                     store->getMetadata(llvm::LLVMContext::MD_tbaa));
    if (store->isAtomic()) {
        old->setAtomic(llvm::AtomicOrdering::Monotonic, store->getSyncScopeID());
    }
    llvm::Value* held = unless(builder, gone, old);
    if (lost_from_ != nullptr) {
        lost_from(store, held, slot, site, where);
    } else {
        replaced(store, held, store->getValueOperand(), site, where);
    }
}

void Emitter::lost_in(llvm::Instruction* before, llvm::Value* start, llvm::Value* bytes,
                      llvm::Value* site, llvm::DebugLoc where) const {
    call(take_, before, {start, bytes, site}, where);
}

void Emitter::copied_over(llvm::Instruction* before, llvm::Value* to, llvm::Value* from,
                          llvm::Value* bytes, llvm::Value* site,
                          llvm::DebugLoc where) const {
    call(copy_over_, before, {to, from, bytes, site}, where);
}

void Emitter::born(llvm::Instruction* before, llvm::Value* value, llvm::Value* slot,
                   llvm::Value* site, llvm::DebugLoc where) const {
    if (born_ != nullptr && !llvm::isa<llvm::Constant>(value)) {
        llvm::IRBuilder<> builder(before);
        call(born_, before, {as_settled_bits(builder, value), site, slot}, where);
    }
}

void Emitter::born_at(llvm::Instruction* before, llvm::Value* slot, llvm::Align align,
                      llvm::Value* site, llvm::DebugLoc where) const {
    if (born_ != nullptr) {
        llvm::IRBuilder<> builder(before);
        auto* value = builder.CreateAlignedLoad(builder.getInt64Ty(), slot, align);
        born(before, value, slot, site, where);
    }
}

void Emitter::born_by_copy(llvm::Instruction* before, llvm::Value* to,
                           llvm::Value* from, llvm::Value* bytes, llvm::Value* site,
                           llvm::DebugLoc where) const {
    if (bear_all_ != nullptr) {
        call(bear_all_, before, {to, from, bytes, site}, where);
    }
}

} // namespace leakline
