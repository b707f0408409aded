// Plans on disk: what is accepted, and that everything else is refused and closed.
#include "patch/plan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "os/memory.h"
#include "patch/shadow.h"

enum { TEXT_PAGES = 1, CODE_PAGES = 2, TABLES = 4 * 4096 };

static const uint8_t build_id[] = {0xab, 0x01, 0xcd};
static char folder[] = "/tmp/leakline-plan-XXXXXX";
static char path[64];

// A small plan as it lies in its file.
static struct {
    _Alignas(4096) struct ll_plan_header header;
    _Alignas(4096) uint8_t pages[TABLES - 4096];
    struct ll_plan_run run;
    struct ll_plan_mapping mappings[3];
    struct ll_plan_patch patches[2];
    struct ll_plan_site sites[2];
} content;

static const size_t content_bytes = TABLES + sizeof content.run +
                                    sizeof content.mappings + sizeof content.patches +
                                    sizeof content.sites;

static void add_sum(void) {
    content.header.start_sum =
        ll_plan_sum(LL_PLAN_SUM_BEGIN, (const char*)&content.run,
                    sizeof content.run + sizeof content.mappings);
}

static void make_content(void) {
    memset(&content, 0, sizeof content);
    content.header = (struct ll_plan_header){.heap_tag = LL_HEAP_TAG,
                                             .build_id_length = sizeof build_id,
                                             .text_page_count = TEXT_PAGES,
                                             .code_page_count = CODE_PAGES,
                                             .run_count = 1,
                                             .mapping_count = 3,
                                             .patch_count = 2,
                                             .site_count = 2};
    memcpy(content.header.magic, "llplan13", 8);
    memcpy(content.header.build_id, build_id, sizeof build_id);
    content.run = (struct ll_plan_run){.address = 0x1000, .count = TEXT_PAGES};
    for (uint32_t i = 0; i < 3; i++) {
        content.mappings[i] =
            (struct ll_plan_mapping){.address = 4096 * (int64_t)i, .page = i / 2};
    }
    content.patches[1].address = 0x1234;
    content.sites[1].store = 0x5678;
    add_sum();
}

static void write_file(size_t size_bytes) {
    unlink(path);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(write(file, &content, size_bytes) == (ssize_t)size_bytes);
    close(file);
}

static enum ll_plan_verdict open_and_close(void) {
    struct ll_plan plan;
    enum ll_plan_verdict verdict =
        ll_plan_open(folder, build_id, sizeof build_id, &plan);
    if (verdict == LL_PLAN_OK) {
        ll_plan_close(&plan);
    }
    return verdict;
}

// The next descriptor that would be given out: the same as long as nothing leaks.
static int next_descriptor(void) {
    int file = open("/dev/null", O_RDONLY);
    close(file);
    return file;
}

static void test_a_plan_is_read_as_it_was_written(void) {
    make_content();
    write_file(content_bytes);
    struct ll_plan plan;
    CHECK(ll_plan_open(folder, build_id, sizeof build_id, &plan) == LL_PLAN_OK);
    CHECK(plan.runs[0].address == 0x1000);
    CHECK(plan.mappings[2].address == 8192 && plan.mappings[2].page == 1);
    CHECK(plan.patches[1].address == 0x1234);
    CHECK(plan.sites[1].store == 0x5678);
    CHECK(ll_plan_text_offset(0) == LL_PAGE_SIZE);
    CHECK(ll_plan_code_offset(&plan, 1) == (size_t)3 * LL_PAGE_SIZE);
    ll_plan_close_file(&plan);
    CHECK(plan.sites[1].store == 0x5678); // what is mapped stays
    ll_plan_close(&plan);
}

static void test_a_module_without_a_plan(void) {
    const uint8_t other[] = {0xab, 0x01, 0xce};
    struct ll_plan plan;
    CHECK(ll_plan_open(folder, other, sizeof other, &plan) == LL_PLAN_MISSING);
    CHECK(ll_plan_open(folder, build_id, 0, &plan) == LL_PLAN_MISSING);
    CHECK(ll_plan_open(folder, build_id, LL_BUILD_ID_MAX + 1, &plan) ==
          LL_PLAN_MISSING);
}

#define CHECK_REFUSED(change)                                                          \
    do {                                                                               \
        make_content();                                                                \
        change;                                                                        \
        write_file(content_bytes);                                                     \
        CHECK(open_and_close() == LL_PLAN_DAMAGED);                                    \
    } while (0)

static void test_headers_for_something_else_are_refused(void) {
    CHECK_REFUSED(content.header.magic[7] = '5');
    CHECK_REFUSED(memcpy(content.header.magic, "llbrth08", 8));
    CHECK_REFUSED(content.header.heap_tag++);
    CHECK_REFUSED(content.header.build_id[0]++);
    CHECK_REFUSED(content.header.build_id_length--);
}

static void test_tables_that_do_not_fit_are_refused(void) {
    CHECK_REFUSED(content.header.mapping_count = UINT32_MAX);
    CHECK_REFUSED(content.header.patch_count++);
    CHECK_REFUSED(content.header.site_count--);
    CHECK_REFUSED(content.header.text_page_count = UINT32_MAX);
    CHECK_REFUSED(content.run.count = 2; add_sum());
    CHECK_REFUSED(content.run.page = UINT32_MAX; add_sum());
    CHECK_REFUSED(content.mappings[0].page = CODE_PAGES; add_sum());
    CHECK_REFUSED(content.mappings[0].address++); // and not its sum
}

static void test_a_file_cut_anywhere_is_refused(void) {
    make_content();
    for (size_t size = 0; size < content_bytes; size += size < TABLES ? 1021 : 1) {
        write_file(size);
        CHECK(open_and_close() == LL_PLAN_DAMAGED);
    }
}

static void test_files_that_others_may_have_written_are_refused(void) {
    make_content();
    write_file(content_bytes);
    CHECK(chmod(path, 0620) == 0 && open_and_close() == LL_PLAN_UNSAFE);
    CHECK(chmod(path, 0602) == 0 && open_and_close() == LL_PLAN_UNSAFE);
    CHECK(chmod(path, 0600) == 0 && open_and_close() == LL_PLAN_OK);
    char target[80];
    snprintf(target, sizeof target, "%s/target", folder);
    CHECK(rename(path, target) == 0 && symlink(target, path) == 0);
    CHECK(open_and_close() == LL_PLAN_MISSING);
    CHECK(unlink(path) == 0 && unlink(target) == 0);
    CHECK(mkdir(path, 0700) == 0);
    CHECK(open_and_close() == LL_PLAN_UNSAFE);
    CHECK(rmdir(path) == 0);
}

// The sum is zlib's, so that Python can write it.
static void test_the_sum_is_adler_32(void) {
    CHECK(ll_plan_sum(LL_PLAN_SUM_BEGIN, "", 0) == 1);
    CHECK(ll_plan_sum(LL_PLAN_SUM_BEGIN, "Wikipedia", 9) == 0x11e60398);
    static char most[3 * 5552 + 21];
    memset(most, 0xff, sizeof most);
    for (size_t size = sizeof most; size > 0; size -= size > 100 ? 67 : 1) {
        uint32_t first = 65520;
        uint32_t second = 65519;
        uint32_t begin = second << 16 | first;
        for (size_t i = 0; i < size; i++) {
            first = (first + (uint8_t)most[i]) % 65521;
            second = (second + first) % 65521;
        }
        CHECK(ll_plan_sum(begin, most, size) == (second << 16 | first));
        most[size - 1] = (char)(size * 7);
    }
}

int main(void) {
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/ab01cd.plan13", folder);
    int descriptor = next_descriptor();
    test_a_plan_is_read_as_it_was_written();
    test_a_module_without_a_plan();
    test_headers_for_something_else_are_refused();
    test_tables_that_do_not_fit_are_refused();
    test_a_file_cut_anywhere_is_refused();
    test_files_that_others_may_have_written_are_refused();
    test_the_sum_is_adler_32();
    CHECK(next_descriptor() == descriptor);
    rmdir(folder);
    return failures != 0;
}
