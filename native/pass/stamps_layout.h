// What stamps look like in memory (format/plan.md, format/sites.md); the same numbers
// as in runtime/patch/shadow.h.
#pragma once
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <cstdint>

namespace leakline {

inline constexpr unsigned heap_tag_shift = 40;
inline constexpr int64_t granule_bytes = 32;
inline constexpr int64_t stamp_bytes = 16;

// In a stamp: the clock stands at its start, in 6 bytes as the site does; each store
// covers the unused bytes of the one before.
inline constexpr unsigned site_offset = 6;
inline constexpr unsigned context_offset = 12;

// Where the runtime keeps what stamps need. It is there once the module's variable says
// which pointers are the heap's.
inline constexpr uint64_t loss_page = 0x7fe01000;
inline constexpr uint64_t clock_address = loss_page;
inline constexpr uint64_t mode_address = loss_page + 8;
inline constexpr uint64_t cache_address = loss_page + 16;
inline constexpr uint64_t hook_address = loss_page + 24;
inline constexpr uint64_t lose_hook_address = loss_page + 56;
inline constexpr uint64_t bear_hook_address = loss_page + 64;
inline constexpr uint64_t gone_hook_address = loss_page + 72;
inline constexpr uint64_t quick_contexts_address = loss_page + 0x1000;
inline constexpr unsigned context_cache_size = 4096; // numbers of 32 bits
inline constexpr unsigned quick_contexts_size = 65536;
enum StampMode : uint32_t {
    single_thread = 0,
    threads = 1,
};

// A variable of the module: bits 40..63 of every heap pointer, or a number that no
// pointer has there while nobody watches.
inline constexpr const char* heap_tag_name = "__leakline_heap_tag";
inline constexpr uint32_t no_heap_tag = UINT32_MAX;

inline llvm::Value* load_heap_tag(llvm::IRBuilder<>& builder) {
    llvm::Module* module = builder.GetInsertBlock()->getModule();
    return builder.CreateLoad(builder.getInt32Ty(),
                              module->getNamedGlobal(heap_tag_name));
}

inline llvm::Value* has_tag(llvm::IRBuilder<>& builder, llvm::Value* bits,
                            llvm::Value* tag) {
    auto* own = builder.CreateLShr(bits, heap_tag_shift);
    return builder.CreateICmpEQ(builder.CreateTrunc(own, builder.getInt32Ty()), tag);
}

inline llvm::Value* is_heap_pointer(llvm::IRBuilder<>& builder, llvm::Value* bits) {
    return has_tag(builder, bits, load_heap_tag(builder));
}

} // namespace leakline
