// What stamps look like in memory (format/plan.md, format/sites.md); the same numbers
// as in runtime/patch/shadow.h.
#pragma once
#include "llvm/IR/IRBuilder.h"

#include <cstdint>

namespace leakline {

inline constexpr uint64_t heap_tag = 0x11; // bits 40..63 of every heap pointer
inline constexpr unsigned heap_tag_shift = 40;
inline constexpr uint64_t shadow_delta = (uint64_t{1} << 40) + 0x1000;
inline constexpr uint64_t granule_bytes = 16;

// In a stamp: the clock stands at its start, in 6 bytes as the site does; each store
// covers the unused bytes of the one before.
inline constexpr unsigned site_offset = 6;
inline constexpr unsigned context_offset = 12;

// What `__leakline_runtime` points to.
inline constexpr unsigned clock_offset = 0;
inline constexpr unsigned mode_offset = 8;
inline constexpr unsigned cache_offset = 16;
inline constexpr unsigned hook_offset = 24;
inline constexpr unsigned lose_hook_offset = 56;
inline constexpr unsigned bear_hook_offset = 64;
inline constexpr unsigned page_words_behind_cache = 6;
inline constexpr unsigned context_cache_size = 4096; // numbers of 32 bits
enum StampMode : uint32_t {
    single_thread = 0,
    threads = 1,
    off = 2,
};

inline llvm::Value* is_heap_pointer(llvm::IRBuilder<>& builder, llvm::Value* bits) {
    return builder.CreateICmpEQ(builder.CreateLShr(bits, heap_tag_shift),
                                builder.getInt64(heap_tag));
}

} // namespace leakline
