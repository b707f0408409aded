#include "stamps_scan.h"

#include "stamps_layout.h"
#include "stamps_leaving.h"

namespace leakline {

namespace {

// for (word = aligned start; word + 1 <= end; word++)
//     if (is_heap(*word)) note(*word)
class Loop {
  public:
    // The function's parameters; the last one is the site.
    Loop(llvm::Module& module, const char* name,
         llvm::ArrayRef<llvm::Type*> parameters);

    // Opens the loop over the aligned words from `start` on, and leaves the builder in
    // its body. Returns the address of the word.
    llvm::Value* open(llvm::Value* start, llvm::Value* bytes);

    // Goes on for words that are references only.
    void only_references(llvm::Value* word);

    llvm::Function* close();

    llvm::IRBuilder<>& builder() {
        return builder_;
    }

    llvm::Value* argument(unsigned number) const {
        return function_->getArg(number);
    }

  private:
    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(function_->getContext(), name, function_);
    }

    llvm::Function* function_;
    llvm::IRBuilder<> builder_;
    llvm::BasicBlock* head_ = nullptr;
    llvm::BasicBlock* next_ = nullptr;
    llvm::BasicBlock* done_ = nullptr;
    llvm::PHINode* at_ = nullptr;
    llvm::Value* behind_ = nullptr; // where the next word starts
};

Loop::Loop(llvm::Module& module, const char* name,
           llvm::ArrayRef<llvm::Type*> parameters)
    : function_(llvm::Function::Create(
          llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()),
                                  parameters, false),
          llvm::GlobalValue::InternalLinkage, name, module)),
      builder_(module.getContext()) {
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->addFnAttr(llvm::Attribute::NoInline);
    function_->addFnAttr(stamps_seldom);
    function_->setUWTableKind(llvm::UWTableKind::Async);
}

llvm::Value* Loop::open(llvm::Value* start, llvm::Value* bytes) {
    auto* entry = block("entry");
    head_ = block("head");
    auto* body = block("body");
    next_ = block("next");
    done_ = block("done");
    llvm::Type* bits = builder_.getInt64Ty();

    builder_.SetInsertPoint(entry);
    auto* first_byte = builder_.CreatePtrToInt(start, bits);
    auto* end = builder_.CreateAdd(first_byte, bytes);
    auto* first =
        builder_.CreateAnd(builder_.CreateAdd(first_byte, builder_.getInt64(7)),
                           builder_.getInt64(~uint64_t{7}));
    builder_.CreateBr(head_);

    builder_.SetInsertPoint(head_);
    at_ = builder_.CreatePHI(bits, 2);
    at_->addIncoming(first, entry);
    behind_ = builder_.CreateAdd(at_, builder_.getInt64(8));
    builder_.CreateCondBr(builder_.CreateICmpULE(behind_, end), body, done_);

    builder_.SetInsertPoint(body);
    return at_;
}

void Loop::only_references(llvm::Value* word) {
    auto* found = block("found");
    builder_.CreateCondBr(is_heap_pointer(builder_, word), found, next_);
    builder_.SetInsertPoint(found);
}

llvm::Function* Loop::close() {
    builder_.CreateBr(next_);
    builder_.SetInsertPoint(next_);
    at_->addIncoming(behind_, next_);
    builder_.CreateBr(head_);
    builder_.SetInsertPoint(done_);
    builder_.CreateRetVoid();
    return function_;
}

llvm::Value* load_word(llvm::IRBuilder<>& builder, llvm::Value* at, llvm::Align align) {
    auto* address = builder.CreateIntToPtr(at, builder.getPtrTy());
    return builder.CreateFreeze(
        builder.CreateAlignedLoad(builder.getInt64Ty(), address, align));
}

} // namespace

llvm::Function* make_scan(const char* name, llvm::Function* lost, AfterScan after) {
    llvm::Module& module = *lost->getParent();
    llvm::Type* bits = llvm::Type::getInt64Ty(module.getContext());
    llvm::Type* place = llvm::PointerType::getUnqual(module.getContext());
    Loop loop(module, name, {place, bits, place});
    llvm::Value* at = loop.open(loop.argument(0), loop.argument(1));
    llvm::IRBuilder<>& builder = loop.builder();
    llvm::Value* word = load_word(builder, at, llvm::Align(8));
    loop.only_references(word);
    auto* slot = builder.CreateIntToPtr(at, place);
    llvm::SmallVector<llvm::Value*> arguments = {word, loop.argument(2), slot};
    builder.CreateCall(lost, llvm::ArrayRef(arguments).take_front(lost->arg_size()));
    if (after == AfterScan::clear) {
        builder.CreateAlignedStore(builder.getInt64(0), slot, llvm::Align(8));
    }
    return loop.close();
}

llvm::Function* make_bear_all(llvm::Module& module, llvm::Function* born) {
    llvm::Type* bits = llvm::Type::getInt64Ty(module.getContext());
    llvm::Type* place = llvm::PointerType::getUnqual(module.getContext());
    Loop loop(module, "leakline.bear_all", {place, place, bits, place});
    llvm::Value* at = loop.open(loop.argument(0), loop.argument(2));
    llvm::IRBuilder<>& builder = loop.builder();
    auto* offset =
        builder.CreateSub(at, builder.CreatePtrToInt(loop.argument(0), bits));
    auto* from =
        builder.CreateAdd(builder.CreatePtrToInt(loop.argument(1), bits), offset);
    llvm::Value* word = load_word(builder, from, llvm::Align(1));
    loop.only_references(word);
    auto* slot = builder.CreateIntToPtr(at, place);
    builder.CreateCall(born, {word, loop.argument(3), slot});
    return loop.close();
}

} // namespace leakline
