// Compiler attributes that the runtime relies on, by meaning.
#pragma once

#define LL_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define LL_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define LL_INLINE static inline __attribute__((always_inline))
#define LL_NOINLINE __attribute__((noinline))
#define LL_COLD __attribute__((cold, noinline))

// For a table or buffer of which little is touched, if any: it lies apart from small
// variables, which then share few pages.
#define LL_BULK __attribute__((section(".bss.bulk")))

// For what hooks call: without vector registers, which they do not save.
#define LL_IN_HOOK __attribute__((target("general-regs-only")))

// A name the target program sees: one of libc's that we define, or our public API.
#define LL_EXPORT __attribute__((visibility("default")))

// Runs inside every hook: without a lazily bound TLS access, so never a call.
#define LL_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))
