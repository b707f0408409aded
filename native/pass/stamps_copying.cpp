#include "stamps_copying.h"

#include "stamps_scan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"

#include <utility>
#include <vector>

namespace leakline {

namespace {

// What is longer is left to the library.
constexpr uint64_t most_bytes = 64;

// A call that looks at what is overwritten, and the copy behind it.
using Pair = std::pair<llvm::CallInst*, llvm::MemTransferInst*>;

llvm::MemTransferInst* copy_behind(llvm::CallInst& look) {
    auto* copy = llvm::dyn_cast_or_null<llvm::MemTransferInst>(
        look.getNextNonDebugInstruction());
    bool is_same = copy != nullptr && copy->getRawDest() == look.getArgOperand(0) &&
                   copy->getRawSource() == look.getArgOperand(1) &&
                   copy->getLength() == look.getArgOperand(2);
    return is_same && !copy->isVolatile() ? copy : nullptr;
}

std::vector<Pair> find_pairs(llvm::Function& copy_over) {
    std::vector<Pair> pairs;
    for (llvm::User* user : copy_over.users()) {
        auto* look = llvm::dyn_cast<llvm::CallInst>(user);
        if (look == nullptr || look->getCalledFunction() != &copy_over ||
            llvm::isa<llvm::ConstantInt>(look->getArgOperand(2)) ||
            look->getFunction()->hasOptNone()) {
            continue;
        }
        if (llvm::MemTransferInst* copy = copy_behind(*look)) {
            pairs.emplace_back(look, copy);
        }
    }
    return pairs;
}

void copy_by_library(llvm::IRBuilder<>& builder) {
    llvm::Function* function = builder.GetInsertBlock()->getParent();
    builder
        .CreateMemMove(function->getArg(0), llvm::Align(1), function->getArg(1),
                       llvm::Align(1), function->getArg(2))
        ->setTailCall();
    builder.CreateRetVoid();
}

// void copy_referring(void* to, const void* from, size_t bytes, site)
llvm::Function* make_copy_referring(llvm::Function* copy_over) {
    auto* function = llvm::Function::Create(
        copy_over->getFunctionType(), llvm::GlobalValue::InternalLinkage,
        "leakline.copy_referring", copy_over->getParent());
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::NoInline);
    function->setUWTableKind(llvm::UWTableKind::Async);
    llvm::IRBuilder<> builder(
        llvm::BasicBlock::Create(function->getContext(), "entry", function));
    llvm::SmallVector<llvm::Value*> arguments;
    for (llvm::Argument& argument : function->args()) {
        arguments.push_back(&argument);
    }
    builder.CreateCall(copy_over, arguments);
    copy_by_library(builder);
    return function;
}

// Copies what is at least as long as the type, and at most twice as long: its first
// bytes and its last, which may overlap. All is read before anything is written.
void copy_ends(llvm::IRBuilder<>& builder, llvm::Type* type) {
    llvm::Function* function = builder.GetInsertBlock()->getParent();
    uint64_t size = function->getParent()->getDataLayout().getTypeStoreSize(type);
    auto* last = builder.CreateSub(function->getArg(2), builder.getInt64(size), "last");
    auto at_last = [&](unsigned argument) {
        return builder.CreateInBoundsGEP(builder.getInt8Ty(),
                                         function->getArg(argument), last);
    };
    auto read = [&](llvm::Value* place) {
        return builder.CreateAlignedLoad(type, place, llvm::Align(1));
    };
    auto* start = read(function->getArg(1));
    auto* end = read(at_last(1));
    builder.CreateAlignedStore(start, function->getArg(0), llvm::Align(1));
    builder.CreateAlignedStore(end, at_last(0), llvm::Align(1));
    builder.CreateRetVoid();
}

// Goes on in the block that is returned when the copy has fewer bytes.
llvm::BasicBlock* if_at_least(llvm::IRBuilder<>& builder, uint64_t bytes) {
    llvm::Function* function = builder.GetInsertBlock()->getParent();
    auto* more = llvm::BasicBlock::Create(function->getContext(), "", function);
    auto* less = llvm::BasicBlock::Create(function->getContext(), "", function);
    builder.CreateCondBr(
        builder.CreateICmpUGE(function->getArg(2), builder.getInt64(bytes)), more,
        less);
    builder.SetInsertPoint(more);
    return less;
}

// Copies by the first of these types, the longest first, that is not longer than the
// copy. Leaves the builder where all of them are longer.
void copy_by_size(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::Type*> types) {
    const llvm::DataLayout& layout =
        builder.GetInsertBlock()->getModule()->getDataLayout();
    for (llvm::Type* type : types) {
        llvm::BasicBlock* less = if_at_least(builder, layout.getTypeStoreSize(type));
        copy_ends(builder, type);
        builder.SetInsertPoint(less);
    }
}

// void copy(void* to, const void* from, size_t bytes, site)
llvm::Function* make_copy(llvm::Function* copy_over) {
    llvm::BasicBlock* unreferring =
        make_search("leakline.copy", make_copy_referring(copy_over));
    llvm::Function* function = unreferring->getParent();
    llvm::BasicBlock* search = &function->getEntryBlock();
    llvm::IRBuilder<> builder(
        llvm::BasicBlock::Create(function->getContext(), "start", function, search));
    llvm::Type* word = builder.getInt64Ty();
    auto words = [&](unsigned count) {
        return llvm::FixedVectorType::get(word, count);
    };

    // Less than a word overwrites none.
    llvm::BasicBlock* short_copy = if_at_least(builder, word_bytes);
    builder.CreateBr(search);
    builder.SetInsertPoint(short_copy);
    copy_by_size(builder,
                 {builder.getInt32Ty(), builder.getInt16Ty(), builder.getInt8Ty()});
    builder.CreateRetVoid();

    builder.SetInsertPoint(unreferring);
    llvm::BasicBlock* less = if_at_least(builder, most_bytes + 1);
    copy_by_library(builder);
    builder.SetInsertPoint(less);
    copy_by_size(builder, {words(4), words(2)});
    copy_ends(builder, word);
    return function;
}

} // namespace

void join_copies(llvm::Module& module) {
    llvm::Function* copy_over = module.getFunction(copy_over_name);
    // Optimisation may have left a parameter out that is the same in all calls.
    if (copy_over == nullptr || copy_over->arg_size() != 4) {
        return;
    }
    std::vector<Pair> pairs = find_pairs(*copy_over);
    if (pairs.empty()) {
        return;
    }
    llvm::Function* joined = make_copy(copy_over);
    for (auto [look, copy] : pairs) {
        look->setCalledFunction(joined);
        copy->eraseFromParent();
    }
}

} // namespace leakline
