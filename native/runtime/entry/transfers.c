// Functions by which the kernel reads and writes the program's memory: lens `accesses`
// sees instructions only, so the touch is noted here, at the call. The forms for large
// files are the same functions on x86-64; those that end in _chk are what fortified
// programs call.
#include <limits.h>
#include <unistd.h>

#include "base/attributes.h"
#include "entry/real.h"
#include "entry/site.h"
#include "lens/touches.h"

// To be used in the body of an entry function itself, whose caller it means.
#define NOTE(start)                                                                    \
    do {                                                                               \
        if (LL_UNLIKELY(ll_touches_on) &&                                              \
            ll_touch_by_kernel_is_wanted((uintptr_t)(start))) {                        \
            ll_touch_by_kernel((uintptr_t)(start), LL_SITE());                         \
        }                                                                              \
    } while (0)

#define NOTE_ALL(vector, count)                                                        \
    do {                                                                               \
        for (size_t i = 0; LL_UNLIKELY(ll_touches_on) && i < (size_t)(count); i++) {   \
            NOTE((vector)[i].iov_base);                                                \
        }                                                                              \
    } while (0)

LL_EXPORT ssize_t read(int file, void* buffer, size_t size) {
    NOTE(buffer);
    return ll_real()->read(file, buffer, size);
}

LL_EXPORT ssize_t write(int file, const void* buffer, size_t size) {
    NOTE(buffer);
    return ll_real()->write(file, buffer, size);
}

LL_EXPORT ssize_t pread(int file, void* buffer, size_t size, off_t offset) {
    NOTE(buffer);
    return ll_real()->pread(file, buffer, size, offset);
}

LL_EXPORT ssize_t pread64(int file, void* buffer, size_t size, off64_t offset) {
    NOTE(buffer);
    return ll_real()->pread(file, buffer, size, offset);
}

LL_EXPORT ssize_t pwrite(int file, const void* buffer, size_t size, off_t offset) {
    NOTE(buffer);
    return ll_real()->pwrite(file, buffer, size, offset);
}

LL_EXPORT ssize_t pwrite64(int file, const void* buffer, size_t size, off64_t offset) {
    NOTE(buffer);
    return ll_real()->pwrite(file, buffer, size, offset);
}

// A count below 0, or a vector that cannot be read, is for the kernel to refuse.
static int readable_count(const struct iovec* vector, int count) {
    return vector != NULL && count > 0 && count <= IOV_MAX ? count : 0;
}

static int message_count(const struct msghdr* message) {
    return message != NULL && message->msg_iovlen <= IOV_MAX
               ? readable_count(message->msg_iov, (int)message->msg_iovlen)
               : 0;
}

LL_EXPORT ssize_t readv(int file, const struct iovec* vector, int count) {
    NOTE_ALL(vector, readable_count(vector, count));
    return ll_real()->readv(file, vector, count);
}

LL_EXPORT ssize_t writev(int file, const struct iovec* vector, int count) {
    NOTE_ALL(vector, readable_count(vector, count));
    return ll_real()->writev(file, vector, count);
}

LL_EXPORT ssize_t recv(int socket, void* buffer, size_t size, int flags) {
    NOTE(buffer);
    return ll_real()->recv(socket, buffer, size, flags);
}

LL_EXPORT ssize_t send(int socket, const void* buffer, size_t size, int flags) {
    NOTE(buffer);
    return ll_real()->send(socket, buffer, size, flags);
}

LL_EXPORT ssize_t recvfrom(int socket, void* buffer, size_t size, int flags,
                           struct sockaddr* from, socklen_t* length) {
    NOTE(buffer);
    return ll_real()->recvfrom(socket, buffer, size, flags, from, length);
}

LL_EXPORT ssize_t sendto(int socket, const void* buffer, size_t size, int flags,
                         const struct sockaddr* to, socklen_t length) {
    NOTE(buffer);
    return ll_real()->sendto(socket, buffer, size, flags, to, length);
}

LL_EXPORT ssize_t recvmsg(int socket, struct msghdr* message, int flags) {
    NOTE_ALL(message->msg_iov, message_count(message));
    return ll_real()->recvmsg(socket, message, flags);
}

LL_EXPORT ssize_t sendmsg(int socket, const struct msghdr* message, int flags) {
    NOTE_ALL(message->msg_iov, message_count(message));
    return ll_real()->sendmsg(socket, message, flags);
}

// Large ones are read straight into the program's memory.
LL_EXPORT size_t fread(void* buffer, size_t size, size_t count, FILE* file) {
    NOTE(buffer);
    return ll_real()->fread(buffer, size, count, file);
}

LL_EXPORT size_t fwrite(const void* buffer, size_t size, size_t count, FILE* file) {
    NOTE(buffer);
    return ll_real()->fwrite(buffer, size, count, file);
}

LL_EXPORT ssize_t __read_chk(int file, void* buffer, size_t size, size_t room);
LL_EXPORT ssize_t __read_chk(int file, void* buffer, size_t size, size_t room) {
    NOTE(buffer);
    return ll_real()->__read_chk(file, buffer, size, room);
}

LL_EXPORT ssize_t __pread_chk(int file, void* buffer, size_t size, off_t offset,
                              size_t room);
LL_EXPORT ssize_t __pread_chk(int file, void* buffer, size_t size, off_t offset,
                              size_t room) {
    NOTE(buffer);
    return ll_real()->__pread_chk(file, buffer, size, offset, room);
}

LL_EXPORT ssize_t __pread64_chk(int file, void* buffer, size_t size, off64_t offset,
                                size_t room);
LL_EXPORT ssize_t __pread64_chk(int file, void* buffer, size_t size, off64_t offset,
                                size_t room) {
    NOTE(buffer);
    return ll_real()->__pread_chk(file, buffer, size, offset, room);
}

LL_EXPORT ssize_t __recv_chk(int socket, void* buffer, size_t size, size_t room,
                             int flags);
LL_EXPORT ssize_t __recv_chk(int socket, void* buffer, size_t size, size_t room,
                             int flags) {
    NOTE(buffer);
    return ll_real()->__recv_chk(socket, buffer, size, room, flags);
}

LL_EXPORT ssize_t __recvfrom_chk(int socket, void* buffer, size_t size, size_t room,
                                 int flags, struct sockaddr* from, socklen_t* length);
LL_EXPORT ssize_t __recvfrom_chk(int socket, void* buffer, size_t size, size_t room,
                                 int flags, struct sockaddr* from, socklen_t* length) {
    NOTE(buffer);
    return ll_real()->__recvfrom_chk(socket, buffer, size, room, flags, from, length);
}

LL_EXPORT size_t __fread_chk(void* buffer, size_t room, size_t size, size_t count,
                             FILE* file);
LL_EXPORT size_t __fread_chk(void* buffer, size_t room, size_t size, size_t count,
                             FILE* file) {
    NOTE(buffer);
    return ll_real()->__fread_chk(buffer, room, size, count, file);
}
