// A watch list is read as it was written, and refused when it is cut or leads outside.
#include "process/watch_list.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static char path[] = "/tmp/watch-XXXXXX";

// One of each part; parts begin at multiples of 8.
static struct {
    char magic[8];
    uint32_t counts[7];
    uint32_t reserved;
    struct ll_watch_module module;
    uint32_t after_module;
    struct ll_watch_target target;
    uint32_t after_target;
    struct ll_watch_frame frame;
    struct ll_watch_use use;
    struct ll_watch_function function;
    struct ll_watch_point point;
    struct ll_watch_store store;
} file;

static void fill(void) {
    memset(&file, 0, sizeof file);
    memcpy(file.magic, "llwatch2", sizeof file.magic);
    for (unsigned i = 0; i < 7; i++) {
        file.counts[i] = 1;
    }
    file.module.build_id_length = 20;
    file.target = (struct ll_watch_target){
        .ordinal = 7, .frame_count = 1, .use_count = 1, .trigger = LL_WATCH_FROM_STORE};
    file.frame.pc = 0x1234;
    file.use.activations = 2;
    file.function.point_count = 1;
    file.point.address = 0x5678;
    file.store = (struct ll_watch_store){
        .base = 3, .index = LL_WATCH_NO_REGISTER, .size_bytes = 8, .displacement = -16};
}

static bool read_back(size_t size_bytes, struct ll_watch_list* list) {
    int descriptor = open(path, O_WRONLY | O_TRUNC);
    CHECK(write(descriptor, &file, size_bytes) == (ssize_t)size_bytes);
    close(descriptor);
    return ll_watch_list_read(path, list);
}

static bool is_refused(void) {
    struct ll_watch_list list;
    bool refused = !read_back(sizeof file, &list);
    fill();
    return refused;
}

static void test_a_list_is_read(void) {
    struct ll_watch_list list;
    CHECK(read_back(sizeof file, &list));
    CHECK(list.target_count == 1 && list.targets[0].ordinal == 7);
    CHECK(list.frames[0].pc == 0x1234 && list.uses[0].activations == 2);
    CHECK(list.points[0].address == 0x5678);
    CHECK(list.stores[0].base == 3 && list.stores[0].displacement == -16);
}

static void test_a_cut_list_is_refused(void) {
    struct ll_watch_list list;
    for (size_t size = 0; size < sizeof file; size++) {
        CHECK(!read_back(size, &list));
    }
}

static void test_numbers_that_lead_outside_are_refused(void) {
    file.magic[0] = 'x';
    CHECK(is_refused());
    file.counts[5] = UINT32_MAX;
    CHECK(is_refused());
    file.module.build_id_length = 33;
    CHECK(is_refused());
    file.target.frame_count = 2;
    CHECK(is_refused());
    file.target.first_use = UINT32_MAX;
    CHECK(is_refused());
    file.frame.module = 1;
    CHECK(is_refused());
    file.use.function = 1;
    CHECK(is_refused());
    file.function.first_point = 1;
    CHECK(is_refused());
    file.point.module = 1;
    CHECK(is_refused());
    file.point.function = 1;
    CHECK(is_refused());
    file.target.store = 1;
    CHECK(is_refused());
    file.target.trigger_frame_count = 2;
    CHECK(is_refused());
    file.store.point = 1;
    CHECK(is_refused());
    file.store.base = 16;
    CHECK(is_refused());
    file.store.index = 0x7f;
    CHECK(is_refused());
    file.store.size_bytes = 65;
    CHECK(is_refused());
    CHECK(!is_refused());
}

int main(void) {
    int descriptor = mkstemp(path);
    CHECK(descriptor >= 0);
    close(descriptor);
    fill();
    test_a_list_is_read();
    test_a_cut_list_is_refused();
    test_numbers_that_lead_outside_are_refused();
    unlink(path);
    return failures != 0;
}
