#include "os/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "os/file.h"
#include "os/memory.h"
#include "os/syscall.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
// As in linux/userfaultfd.h of younger kernels.
#define NEW_DESCRIPTOR _IO(0xAA, 0x00)           // of /dev/userfaultfd, since 6.1
#define FEATURE_WP_SHARED (UINT64_C(1) << 12)    // since Linux 5.19
#define FEATURE_MINOR_SHARED (UINT64_C(1) << 10) // since Linux 5.14
#define REGISTER_MODE_MINOR (UINT64_C(1) << 2)
#define CONTINUE_CALL _IOWR(UFFDIO, 0x07, struct continue_request)

struct continue_request {
    struct uffdio_range range;
    uint64_t mode;
    int64_t mapped;
};

enum { FLAGS = O_CLOEXEC | O_NONBLOCK };

static bool agree(struct ll_faults* faults, long descriptor, uint64_t features,
                  uint64_t mode) {
    struct uffdio_api api = {.api = UFFD_API, .features = features};
    *faults = LL_NO_FAULTS;
    if (descriptor < 0) {
        return false;
    }
    if (ll_syscall(SYS_ioctl, descriptor, UFFDIO_API, &api) != 0) {
        ll_file_close((int)descriptor);
        return false;
    }
    *faults = (struct ll_faults){.descriptor = (int)descriptor, .mode = mode};
    return true;
}

// Registered for writes that are never forbidden: no fault waits for anybody.
bool ll_faults_open_silent(struct ll_faults* faults) {
    long descriptor = ll_syscall(SYS_userfaultfd, FLAGS | UFFD_USER_MODE_ONLY);
    return agree(faults, descriptor, FEATURE_WP_SHARED, UFFDIO_REGISTER_MODE_WP);
}

static long open_by_device(void) {
    int device = ll_file_open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (device < 0) {
        return device;
    }
    long descriptor = ll_syscall(SYS_ioctl, device, NEW_DESCRIPTOR, FLAGS);
    ll_file_close(device);
    return descriptor;
}

bool ll_faults_open_told(struct ll_faults* faults) {
    long descriptor = ll_syscall(SYS_userfaultfd, FLAGS);
    if (descriptor < 0) {
        descriptor = open_by_device();
    }
    return agree(faults, descriptor, FEATURE_MINOR_SHARED | UFFD_FEATURE_THREAD_ID,
                 REGISTER_MODE_MINOR);
}

void ll_faults_close(struct ll_faults* faults) {
    if (faults->descriptor >= 0) {
        ll_file_close(faults->descriptor);
    }
    *faults = LL_NO_FAULTS;
}

bool ll_faults_register(const struct ll_faults* faults, uintptr_t start,
                        size_t size_bytes) {
    struct uffdio_register wanted = {.range = {start, size_bytes},
                                     .mode = faults->mode};
    return faults->descriptor >= 0 &&
           ll_syscall(SYS_ioctl, faults->descriptor, UFFDIO_REGISTER, &wanted) == 0;
}

static int read_told(const struct ll_faults* faults, struct ll_fault* told,
                     int capacity) {
    int count = 0;
    struct uffd_msg message;
    while (count < capacity && ll_file_read(faults->descriptor, &message,
                                            sizeof message) == sizeof message) {
        if (message.event == UFFD_EVENT_PAGEFAULT) {
            told[count++] = (struct ll_fault){
                .page = message.arg.pagefault.address & ~(uintptr_t)(LL_PAGE_SIZE - 1),
                .tid = (int)message.arg.pagefault.feat.ptid,
            };
        }
    }
    return count;
}

int ll_faults_await(const struct ll_faults* faults, struct ll_fault* told,
                    int capacity) {
    struct pollfd waited = {.fd = faults->descriptor, .events = POLLIN};
    long ready = ll_syscall(SYS_poll, &waited, 1, -1);
    bool is_over = (ready < 0 && ready != -EINTR) || (waited.revents & POLLNVAL) != 0;
    return is_over ? -1 : read_told(faults, told, capacity);
}

// The page may be there by now, or gone with its memory, or mapped anew: whoever waits
// then has to look again.
void ll_faults_let_go(const struct ll_faults* faults, uintptr_t page) {
    struct continue_request request = {.range = {page, LL_PAGE_SIZE}};
    if (ll_syscall(SYS_ioctl, faults->descriptor, CONTINUE_CALL, &request) != 0) {
        (void)ll_syscall(SYS_ioctl, faults->descriptor, UFFDIO_WAKE, &request.range);
    }
}
