#include "stamps_memory.h"

#include "stamps_callees.h"
#include "stamps_names.h"
#include "stamps_scan.h"
#include "stamps_temporaries.h"
#include "stamps_unions.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"

namespace leakline {

namespace {

// A copy of at most this many bytes is looked at word by word, in line.
constexpr uint64_t small_copy_bytes = 64;

// Stack memory that holds no variable with pointers is of no interest.
bool is_slot(llvm::Value* address, const Slots& slots) {
    llvm::Value* base = base_of(address);
    auto* place = llvm::dyn_cast<llvm::AllocaInst>(base);
    return place == nullptr || !place->isStaticAlloca() || slots.is_in_memory(place);
}

// Which argument of a library function is the address of a pointer that it replaces.
int replaced_argument(const llvm::Function& function) {
    static const llvm::StringMap<int> arguments = {
        {"asprintf", 0},       {"vasprintf", 0},       {"__asprintf_chk", 0},
        {"getline", 0},        {"getdelim", 0},        {"__getdelim", 0},
        {"scandir", 1},        {"scandir64", 1},       {"scandirat", 2},
        {"scandirat64", 2},    {"posix_memalign", 0},  {"getaddrinfo", 3},
        {"getifaddrs", 0},     {"__vasprintf_chk", 0}, {"open_memstream", 0},
        {"open_wmemstream", 0}};
    if (!function.isDeclarationForLinker()) {
        return -1;
    }
    auto found = arguments.find(function.getName());
    return found != arguments.end() ? found->second : -1;
}

// Where such a function is inlined from a header, its caller names the variable.
int replaced_argument(const llvm::CallBase& call) {
    const llvm::Function* callee = callee_of(call);
    if (callee == nullptr || replaced_argument(*call.getFunction()) >= 0) {
        return -1;
    }
    return replaced_argument(*callee);
}

class Noter {
  public:
    Noter(const Released& released, llvm::Function& function, const Tools& tools)
        : released_(released), function_(function), tools_(tools) {
    }

    void store(llvm::StoreInst* store) const;
    void copy(llvm::AnyMemIntrinsic* copy) const;
    void exchange(llvm::Instruction* exchange) const;
    void result(llvm::CallBase* call, unsigned argument) const;

  private:
    void store_in_union(llvm::StoreInst* store) const;
    llvm::ConstantInt* site(llvm::Instruction* at, std::string slot) const;
    void words(llvm::Instruction* before, llvm::Value* start,
               llvm::ArrayRef<uint64_t> offsets, llvm::Align align,
               llvm::ConstantInt* site) const;
    void born_words(llvm::StoreInst* store, llvm::Value* start,
                    llvm::ArrayRef<uint64_t> offsets, llvm::ConstantInt* site) const;
    void lose_copied_over(llvm::AnyMemIntrinsic* copy, llvm::Value* bytes,
                          llvm::ConstantInt* site) const;

    const Released& released_;
    llvm::Function& function_;
    const Tools& tools_;
};

llvm::ConstantInt* Noter::site(llvm::Instruction* at, std::string slot) const {
    return tools_.sites.add(
        {at->getDebugLoc(), &function_, std::move(slot), Cause::overwritten});
}

void Noter::words(llvm::Instruction* before, llvm::Value* start,
                  llvm::ArrayRef<uint64_t> offsets, llvm::Align align,
                  llvm::ConstantInt* site) const {
    for (uint64_t offset : offsets) {
        llvm::IRBuilder<> builder(before);
        auto* address =
            builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), start, offset);
        tools_.emitter.lost_at(before, address, llvm::commonAlignment(align, offset),
                               site, before->getDebugLoc());
    }
}

void Noter::store(llvm::StoreInst* store) const {
    llvm::Value* slot = store->getPointerOperand();
    llvm::Type* type = store->getValueOperand()->getType();
    const llvm::DataLayout& layout = store->getModule()->getDataLayout();
    if (!type->isAggregateType() && layout.getTypeStoreSize(type) != word_bytes) {
        store_in_union(store);
        return;
    }
    llvm::ConstantInt* place = site(store, name_of_slot(slot));
    if (type->isAggregateType()) {
        std::vector<uint64_t> offsets = pointer_offsets(type, layout);
        words(store, slot, offsets, store->getAlign(), place);
        born_words(store, slot, offsets, place);
        return;
    }
    llvm::IRBuilder<> builder(store);
    tools_.emitter.overwritten(store, place, released_.is_gone(builder, slot));
    tools_.emitter.born(store, store->getValueOperand(), slot, place,
                        store->getDebugLoc());
}

// A number, for example, overwrites a part of a word, or several.
void Noter::store_in_union(llvm::StoreInst* store) const {
    const llvm::DataLayout& layout = store->getModule()->getDataLayout();
    llvm::Value* start = store->getPointerOperand();
    uint64_t inner = *offset_in_union(start, layout) % word_bytes;
    uint64_t end = inner + layout.getTypeStoreSize(store->getValueOperand()->getType());
    for (uint64_t word = 0; word < end; word += word_bytes) {
        llvm::IRBuilder<> builder(store);
        auto* address = builder.CreateGEP(builder.getInt8Ty(), start,
                                          builder.getInt64(word - inner));
        llvm::Value* gone = released_.is_gone(builder, address);
        llvm::ConstantInt* place = site(store, name_of_slot(address));
        tools_.emitter.partly_overwritten(store, address, place, gone);
    }
}

// Once they are stored.
void Noter::born_words(llvm::StoreInst* store, llvm::Value* start,
                       llvm::ArrayRef<uint64_t> offsets,
                       llvm::ConstantInt* site) const {
    for (uint64_t offset : offsets) {
        llvm::IRBuilder<> builder(store->getNextNode());
        auto* slot =
            builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), start, offset);
        tools_.emitter.born_at(&*builder.GetInsertPoint(), slot,
                               llvm::commonAlignment(store->getAlign(), offset), site,
                               store->getDebugLoc());
    }
}

void Noter::copy(llvm::AnyMemIntrinsic* copy) const {
    llvm::ConstantInt* place = site(copy, name_of_memory(copy->getRawDest()));
    llvm::IRBuilder<> builder(copy);
    llvm::Value* bytes =
        builder.CreateZExtOrTrunc(copy->getLength(), builder.getInt64Ty());
    lose_copied_over(copy, bytes, place);
    if (auto* moved = llvm::dyn_cast<llvm::AnyMemTransferInst>(copy)) {
        tools_.emitter.born_by_copy(copy, moved->getRawDest(), moved->getRawSource(),
                                    bytes, place, copy->getDebugLoc());
    }
}

void Noter::lose_copied_over(llvm::AnyMemIntrinsic* copy, llvm::Value* bytes,
                             llvm::ConstantInt* site) const {
    auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy->getLength());
    llvm::Align align = copy->getDestAlign().valueOrOne();
    // Without optimisation a call of the C library does even these, and its code, which
    // is patched, would note once more what it still finds there.
    bool is_in_line = length != nullptr && !function_.hasOptNone() &&
                      length->getZExtValue() <= small_copy_bytes && align >= 8;
    if (is_in_line) {
        std::vector<uint64_t> offsets;
        for (uint64_t at = 0; at + 8 <= length->getZExtValue(); at += 8) {
            offsets.push_back(at);
        }
        words(copy, copy->getRawDest(), offsets, align, site);
    } else if (auto* moved = llvm::dyn_cast<llvm::AnyMemTransferInst>(copy)) {
        tools_.emitter.copied_over(copy, moved->getRawDest(), moved->getRawSource(),
                                   bytes, site, copy->getDebugLoc());
    } else {
        tools_.emitter.lost_in(copy, copy->getRawDest(), bytes, site,
                               copy->getDebugLoc());
    }
}

void Noter::exchange(llvm::Instruction* exchange) const {
    llvm::Instruction* next = next_after(exchange);
    llvm::IRBuilder<> builder(next);
    llvm::Value* old = exchange;
    llvm::Value* given = nullptr;
    llvm::Value* slot = nullptr;
    if (auto* compared = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(exchange)) {
        slot = compared->getPointerOperand();
        auto* found = builder.CreateExtractValue(compared, 0);
        auto* is_done = builder.CreateExtractValue(compared, 1);
        auto* nothing = llvm::Constant::getNullValue(found->getType());
        old = builder.CreateSelect(is_done, found, nothing);
        given = builder.CreateSelect(is_done, compared->getNewValOperand(), nothing);
    } else {
        auto* always = llvm::cast<llvm::AtomicRMWInst>(exchange);
        slot = always->getPointerOperand();
        given = always->getValOperand();
    }
    llvm::ConstantInt* place = site(exchange, name_of_slot(slot));
    tools_.emitter.lost_from(next, old, slot, place, exchange->getDebugLoc());
    tools_.emitter.born(next, given, slot, place, exchange->getDebugLoc());
}

void Noter::result(llvm::CallBase* call, unsigned argument) const {
    llvm::Value* slot = call->getArgOperand(argument);
    llvm::ConstantInt* place = site(call, name_of_slot(slot));
    tools_.emitter.lost_at(call, slot, llvm::Align(8), place, call->getDebugLoc());
    if (llvm::Instruction* next = next_after(call)) {
        tools_.emitter.born_at(next, slot, llvm::Align(8), place, call->getDebugLoc());
    }
}

bool exchanges_pointer(const llvm::Instruction& instruction) {
    llvm::Type* type = nullptr;
    if (auto* compared = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
        type = compared->getCompareOperand()->getType();
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
        if (exchange->getOperation() != llvm::AtomicRMWInst::Xchg) {
            return false;
        }
        type = exchange->getType();
    }
    return type != nullptr && (type->isPointerTy() || type->isIntegerTy(64));
}

} // namespace

MemoryAccesses find_memory_accesses(llvm::Function& function, const Slots& slots) {
    MemoryAccesses accesses;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
            if (may_overwrite_pointer(*store) &&
                is_slot(store->getPointerOperand(), slots)) {
                accesses.stores.push_back(store);
            }
        } else if (auto* copy = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&instruction)) {
            if (may_overwrite_pointers(*copy) && is_slot(copy->getRawDest(), slots)) {
                accesses.copies.push_back(copy);
            }
        } else if (exchanges_pointer(instruction)) {
            accesses.exchanges.push_back(&instruction);
        } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
            int argument = replaced_argument(*call);
            if (argument >= 0 && static_cast<unsigned>(argument) < call->arg_size()) {
                accesses.results.emplace_back(call, static_cast<unsigned>(argument));
            }
            for (unsigned output : replaced_outputs(*call)) {
                if (is_slot(call->getArgOperand(output), slots)) {
                    accesses.results.emplace_back(call, output);
                }
            }
        }
    }
    return accesses;
}

void note_overwritten_memory(const MemoryAccesses& accesses, const Released& released,
                             llvm::Function& function, const Tools& tools) {
    Noter noter(released, function, tools);
    for (llvm::StoreInst* store : accesses.stores) {
        noter.store(store);
    }
    for (llvm::AnyMemIntrinsic* copy : accesses.copies) {
        noter.copy(copy);
    }
    for (llvm::Instruction* exchange : accesses.exchanges) {
        noter.exchange(exchange);
    }
    for (auto [call, argument] : accesses.results) {
        noter.result(call, argument);
    }
}

} // namespace leakline
