#include "os/wait_time.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "base/attributes.h"
#include "os/syscall.h"

enum { NO_LIMIT = -1, ZERO_FLAG = 1 << 6, SIGN_FLAG = 1 << 7 };

// The wait that the thread was last interrupted in.
static LL_THREAD_LOCAL struct {
    greg_t pc;
    greg_t sp;
    int64_t limit_ms; // NO_LIMIT if none
    int64_t since_ms; // when it was first interrupted
} wait;

// No result is both zero and negative, so code never leaves both flags set at a system
// call, and the kernel keeps them: they tell a call that we made again from a new one
// at the same place.
static const greg_t made_again = ZERO_FLAG | SIGN_FLAG;

static int64_t timespec_limit(greg_t pointer) {
    const struct timespec* limit = (const struct timespec*)pointer;
    return limit == NULL ? NO_LIMIT : limit->tv_sec * 1000 + limit->tv_nsec / 1000000;
}

static int64_t socket_limit(greg_t file, int option) {
    struct timeval limit = {0};
    socklen_t length = sizeof limit;
    if (ll_syscall(SYS_getsockopt, file, SOL_SOCKET, option, &limit, &length) != 0 ||
        (limit.tv_sec == 0 && limit.tv_usec == 0)) {
        return NO_LIMIT;
    }
    return limit.tv_sec * 1000 + limit.tv_usec / 1000;
}

static int64_t limit_of(long number, const greg_t* arguments) {
    switch (number) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
        return (int)arguments[REG_R10] < 0 ? NO_LIMIT : (int)arguments[REG_R10];
    case SYS_rt_sigtimedwait:
        return timespec_limit(arguments[REG_RDX]);
    case SYS_semtimedop:
    case SYS_epoll_pwait2:
        return timespec_limit(arguments[REG_R10]);
    case SYS_io_getevents:
        return timespec_limit(arguments[REG_R8]);
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_accept:
    case SYS_accept4:
        return socket_limit(arguments[REG_RDI], SO_RCVTIMEO);
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
        return socket_limit(arguments[REG_RDI], SO_SNDTIMEO);
    default:
        return NO_LIMIT;
    }
}

// What the call returns when its time is up.
static greg_t result_of_timeout(long number) {
    bool returns_count = number == SYS_epoll_pwait2 || number == SYS_io_getevents;
    return returns_count ? 0 : -EAGAIN;
}

static bool is_same_wait(const greg_t* registers) {
    return (registers[REG_EFL] & made_again) == made_again &&
           wait.pc == registers[REG_RIP] && wait.sp == registers[REG_RSP];
}

bool ll_wait_goes_on(long number, greg_t* registers, int64_t now_ms) {
    if (!is_same_wait(registers)) {
        wait.pc = registers[REG_RIP];
        wait.sp = registers[REG_RSP];
        wait.limit_ms = limit_of(number, registers);
        wait.since_ms = now_ms;
    }
    registers[REG_EFL] |= made_again;
    if (wait.limit_ms == NO_LIMIT) {
        return true;
    }
    int64_t left_ms = wait.limit_ms - (now_ms - wait.since_ms);
    if (number == SYS_epoll_wait || number == SYS_epoll_pwait) {
        registers[REG_R10] = left_ms > 0 ? left_ms : 0;
        return true;
    }
    if (left_ms <= 0) {
        registers[REG_RAX] = result_of_timeout(number);
    }
    return left_ms > 0;
}
