// System calls without libc: they take no lock, are no cancellation point and leave
// errno alone. Each returns the kernel's answer, a negative errno on failure.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline long ll_syscall6(long number, long a, long b, long c, long d, long e,
                               long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#define ll_syscall(number, ...) LL_SYSCALL_CALL(number, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define LL_SYSCALL_CALL(number, a, b, c, d, e, f, ...)                                 \
    ll_syscall6((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e),       \
                (long)(f))
