#include "stamps_scan.h"

#include "stamps_contexts.h"
#include "stamps_layout.h"
#include "stamps_leaving.h"

namespace leakline {

namespace {

// As many words as are looked at together while none of them is a reference: most
// memory that is copied or filled has none.
constexpr unsigned words_at_once = 4;

llvm::Value* distance(llvm::IRBuilder<>& builder, llvm::Value* from, llvm::Value* to) {
    llvm::Type* bits = builder.getInt64Ty();
    return builder.CreateSub(builder.CreatePtrToInt(to, bits),
                             builder.CreatePtrToInt(from, bits));
}

// for (word = aligned start; word + 1 <= end; word++)
//     if (is_heap(*word)) note(*word)
class Loop {
  public:
    // The function's parameters; the last one is the site.
    Loop(llvm::Module& module, const char* name,
         llvm::ArrayRef<llvm::Type*> parameters);

    // Opens the loop over the slots of some memory, which are aligned. Their words are
    // read at the same distance from `source`. Leaves the builder where one of them is
    // a reference.
    void open(llvm::Value* start, llvm::Value* bytes, llvm::Value* source,
              llvm::Align align);

    // Goes on with the next slots.
    llvm::Function* close();

    // Leaves the rest to a function with the same parameters. Returns the block that is
    // reached when there is no reference.
    llvm::BasicBlock* leave_to(llvm::Function* rest);

    llvm::IRBuilder<>& builder() {
        return builder_;
    }

    llvm::Value* argument(unsigned number) const {
        return function_->getArg(number);
    }

    // The reference that was found, and the slot that it is noted for.
    llvm::Value* word() const {
        return word_;
    }

    llvm::Value* slot() const {
        return slot_;
    }

  private:
    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(function_->getContext(), name, function_);
    }

    llvm::Value* forward(llvm::Value* at, unsigned words) {
        return builder_.CreateAdd(at, builder_.getInt64(words * word_bytes));
    }

    llvm::Value* read(llvm::Type* type, llvm::Value* at);
    llvm::Value* has_reference(llvm::Value* words);

    llvm::Function* function_;
    llvm::IRBuilder<> builder_;
    llvm::Value* to_source_ = nullptr; // from a slot to where its word is read
    llvm::Align align_;                // of that place
    llvm::PHINode* several_ = nullptr; // the slots that are looked at together
    llvm::PHINode* at_ = nullptr;      // the one that is looked at alone
    llvm::BasicBlock* done_ = nullptr;
    llvm::Value* word_ = nullptr;
    llvm::Value* slot_ = nullptr;
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

llvm::Value* Loop::read(llvm::Type* type, llvm::Value* at) {
    auto* address = builder_.CreateIntToPtr(builder_.CreateAdd(at, to_source_),
                                            builder_.getPtrTy());
    return builder_.CreateFreeze(builder_.CreateAlignedLoad(type, address, align_));
}

llvm::Value* Loop::has_reference(llvm::Value* words) {
    auto* tags = builder_.CreateVectorSplat(words_at_once, load_heap_tag(builder_));
    auto* own = builder_.CreateTrunc(builder_.CreateLShr(words, heap_tag_shift),
                                     tags->getType());
    return builder_.CreateOrReduce(builder_.CreateICmpEQ(own, tags));
}

// Several words at once, and one by one where they have a reference or are the last.
void Loop::open(llvm::Value* start, llvm::Value* bytes, llvm::Value* source,
                llvm::Align align) {
    align_ = align;
    auto* entry = block("entry");
    auto* several = block("several");
    auto* look = block("look");
    auto* single = block("single");
    auto* body = block("body");
    auto* next = block("next");
    auto* found = block("found");
    done_ = block("done");
    llvm::Type* bits = builder_.getInt64Ty();

    builder_.SetInsertPoint(entry);
    to_source_ = distance(builder_, start, source);
    auto* first_byte = builder_.CreatePtrToInt(start, bits);
    auto* end = builder_.CreateAdd(first_byte, bytes);
    auto* first = builder_.CreateAnd(
        builder_.CreateAdd(first_byte, builder_.getInt64(word_bytes - 1)),
        builder_.getInt64(~uint64_t{word_bytes - 1}));
    builder_.CreateBr(several);

    builder_.SetInsertPoint(several);
    several_ = builder_.CreatePHI(bits, 3);
    auto* behind = forward(several_, words_at_once);
    builder_.CreateCondBr(builder_.CreateICmpULE(behind, end), look, single);

    builder_.SetInsertPoint(look);
    auto* words = read(llvm::FixedVectorType::get(bits, words_at_once), several_);
    builder_.CreateCondBr(has_reference(words), single, several);
    several_->addIncoming(first, entry);
    several_->addIncoming(behind, look);

    builder_.SetInsertPoint(single);
    at_ = builder_.CreatePHI(bits, 3);
    at_->addIncoming(several_, several);
    at_->addIncoming(several_, look);
    builder_.CreateCondBr(builder_.CreateICmpULE(forward(at_, 1), end), body, done_);

    builder_.SetInsertPoint(body);
    word_ = read(bits, at_);
    builder_.CreateCondBr(is_heap_pointer(builder_, word_), found, next);

    builder_.SetInsertPoint(next);
    at_->addIncoming(forward(at_, 1), next);
    builder_.CreateBr(single);

    builder_.SetInsertPoint(found);
    slot_ = builder_.CreateIntToPtr(at_, builder_.getPtrTy());
}

llvm::Function* Loop::close() {
    several_->addIncoming(forward(at_, 1), builder_.GetInsertBlock());
    builder_.CreateBr(several_->getParent());
    builder_.SetInsertPoint(done_);
    builder_.CreateRetVoid();
    return function_;
}

llvm::BasicBlock* Loop::leave_to(llvm::Function* rest) {
    function_->addFnAttr(passes_context);
    llvm::SmallVector<llvm::Value*> arguments;
    for (llvm::Argument& argument : function_->args()) {
        arguments.push_back(&argument);
    }
    builder_.CreateCall(rest, arguments)->setTailCall();
    builder_.CreateRetVoid();
    return done_;
}

llvm::SmallVector<llvm::Type*> take_parameters(llvm::Module& module) {
    llvm::Type* place = llvm::PointerType::getUnqual(module.getContext());
    llvm::Type* number = llvm::Type::getInt64Ty(module.getContext());
    return {place, number, number};
}

llvm::SmallVector<llvm::Type*> copy_parameters(llvm::Module& module) {
    llvm::Type* place = llvm::PointerType::getUnqual(module.getContext());
    llvm::Type* number = llvm::Type::getInt64Ty(module.getContext());
    return {place, place, number, number};
}

// By a call that is told the slot, or else what it is given: nothing that could be the
// same.
void note_found(Loop& loop, llvm::Function* note, llvm::Value* site) {
    llvm::IRBuilder<>& builder = loop.builder();
    bool tells_slot = note->getArg(2)->getType()->isPointerTy();
    llvm::Value* last = tells_slot ? loop.slot() : builder.getInt64(0);
    builder.CreateCall(note, {loop.word(), site, last});
}

// What the slot holds until it is overwritten.
void leave(Loop& loop, llvm::Value* value) {
    loop.builder().CreateAlignedStore(value, loop.slot(), llvm::Align(word_bytes));
}

// True when the slot has bytes in common with what starts at `from`.
llvm::Value* is_in(llvm::IRBuilder<>& builder, llvm::Value* slot, llvm::Value* from,
                   llvm::Value* bytes) {
    auto* before = builder.getInt64(word_bytes - 1);
    return builder.CreateICmpULT(
        builder.CreateAdd(distance(builder, from, slot), before),
        builder.CreateAdd(bytes, before));
}

// What is called for most copies only looks for a reference, so that it needs neither a
// frame nor a context.
llvm::Function* make_take_found(llvm::Function* lost) {
    llvm::Module& module = *lost->getParent();
    Loop loop(module, "leakline.take_found", take_parameters(module));
    loop.open(loop.argument(0), loop.argument(1), loop.argument(0),
              llvm::Align(word_bytes));
    note_found(loop, lost, loop.argument(2));
    leave(loop, loop.builder().getInt64(0));
    return loop.close();
}

llvm::Function* make_copy_over_found(llvm::Function* lost) {
    llvm::Module& module = *lost->getParent();
    Loop loop(module, "leakline.copy_over_found", copy_parameters(module));
    llvm::IRBuilder<>& builder = loop.builder();
    llvm::Value* bytes = loop.argument(2);
    loop.open(loop.argument(0), bytes, loop.argument(0), llvm::Align(word_bytes));
    note_found(loop, lost, loop.argument(3));
    auto* is_read_again = is_in(builder, loop.slot(), loop.argument(1), bytes);
    leave(loop, builder.CreateSelect(is_read_again, loop.word(), builder.getInt64(0)));
    return loop.close();
}

llvm::Function* return_from(llvm::BasicBlock* end) {
    llvm::IRBuilder<>(end).CreateRetVoid();
    return end->getParent();
}

} // namespace

llvm::Function* make_take(llvm::Function* lost) {
    llvm::Module& module = *lost->getParent();
    Loop loop(module, "leakline.take", take_parameters(module));
    loop.open(loop.argument(0), loop.argument(1), loop.argument(0),
              llvm::Align(word_bytes));
    return return_from(loop.leave_to(make_take_found(lost)));
}

llvm::Function* make_copy_over(llvm::Function* lost) {
    return return_from(make_search(copy_over_name, make_copy_over_found(lost)));
}

llvm::BasicBlock* make_search(const char* name, llvm::Function* rest) {
    llvm::Module& module = *rest->getParent();
    Loop loop(module, name, copy_parameters(module));
    loop.open(loop.argument(0), loop.argument(2), loop.argument(0),
              llvm::Align(word_bytes));
    return loop.leave_to(rest);
}

llvm::Function* make_bear_all(llvm::Module& module, llvm::Function* born) {
    Loop loop(module, "leakline.bear_all", copy_parameters(module));
    loop.open(loop.argument(0), loop.argument(2), loop.argument(1), llvm::Align(1));
    note_found(loop, born, loop.argument(3));
    return loop.close();
}

} // namespace leakline
