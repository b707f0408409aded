// One look from roots to recording: what it writes, and what it writes only once.
#include "lens/reach.h"

#include <sys/wait.h>

#include "base/options.h"
#include "check.h"
#include "heap/heap.h"
#include "record/recording.h"
#include "recording_file.h"
#include "stack/stack.h"

static struct recording_file file;
static void* roots[4];

// What the last snapshot in the recording says.
static struct {
    unsigned begins, ends, groups, nodes, modules, not_seen, totals;
    uint64_t blocks[5]; // by kind of group
    uint64_t bytes[5];
    uint64_t live_blocks;
    bool well_formed; // everything is defined before it is used
} said;

// Nodes and modules defined so far in the file.
static bool node_defined[100000];
static bool module_defined[1000];

static void note_node(const struct ll_record_node* node) {
    said.nodes++;
    said.well_formed &= node->parent == 0 || node_defined[node->parent];
    said.well_formed &= node->module == 0 || module_defined[node->module];
    node_defined[node->id] = true;
}

static void note_group(const struct ll_record_group* group) {
    said.groups++;
    said.blocks[group->kind] += group->blocks;
    said.bytes[group->kind] += group->bytes;
    said.well_formed &= group->stack == 0 || node_defined[group->stack];
    said.well_formed &= group->leader == 0 || node_defined[group->leader];
}

static void note(const struct found_record* record, void* context) {
    (void)context;
    const struct ll_record_module* module = (const void*)record->data;
    switch (record->tag) {
    case LL_RECORD_snapshot_begin:
        memset(&said, 0, sizeof said);
        said.well_formed = true;
        said.begins++;
        break;
    case LL_RECORD_module:
        said.modules++;
        module_defined[module->id] = true;
        said.well_formed &= record->length > sizeof *module;
        break;
    case LL_RECORD_node:
        note_node((const void*)record->data);
        break;
    case LL_RECORD_group:
        note_group((const void*)record->data);
        break;
    case LL_RECORD_not_seen:
        said.not_seen++;
        break;
    case LL_RECORD_heap_totals:
        said.totals++;
        said.live_blocks =
            ((const struct ll_record_heap_totals*)(const void*)record->data)
                ->live_blocks;
        break;
    case LL_RECORD_snapshot_end:
        said.ends++;
        said.well_formed &=
            ((const struct ll_record_snapshot_end*)(const void*)record->data)->groups ==
            said.groups;
        break;
    default:
        break;
    }
}

static uint64_t look_at(const struct ll_world* world) {
    static uint32_t number;
    struct ll_look look = {.number = ++number, .trigger = LL_TRIGGER_program};
    uint64_t lost = ll_reach_look(&look, world);
    recording_file_read(&file);
    memset(node_defined, 0, sizeof node_defined);
    memset(module_defined, 0, sizeof module_defined);
    CHECK(recording_file_visit(&file, file.length, note, NULL) > 0);
    CHECK(said.begins == 1 && said.ends == 1 && said.totals == 1 && said.well_formed);
    return lost;
}

static uint64_t look(void) {
    struct ll_world nobody_else = {0};
    return look_at(&nobody_else);
}

__attribute__((noinline)) static void* allocate(size_t size) {
    return ll_heap_allocate_zeroed(size, ll_stack_capture(LL_CALLER()));
}

static void lost_blocks_and_what_they_lead_to(void) {
    roots[0] = allocate(100);
    void** lost = allocate(24);
    lost[1] = allocate(7);
    CHECK(look() == 1);
    CHECK(said.blocks[LL_GROUP_reachable] == 1 &&
          said.bytes[LL_GROUP_reachable] == 100);
    CHECK(said.blocks[LL_GROUP_lost] == 1 && said.bytes[LL_GROUP_lost] == 24);
    CHECK(said.blocks[LL_GROUP_indirect] == 1 && said.bytes[LL_GROUP_indirect] == 7);
    CHECK(said.live_blocks == 3 && said.nodes > 3 && said.modules > 0);
    // Nothing new: the same groups, no nodes.
    CHECK(look() == 1);
    CHECK(said.groups == 3 && said.nodes == 0 && said.modules == 0);
    roots[1] = lost;
    CHECK(look() == 0);
    CHECK(said.blocks[LL_GROUP_reachable] == 3);
    roots[0] = roots[1] = NULL;
    CHECK(look() == 2);
    ll_heap_release(lost[1]);
    ll_heap_release(lost);
}

static void ignored_blocks_are_roots(void) {
    void** ignored = allocate(32);
    ignored[3] = allocate(16);
    uint64_t before = look();
    CHECK(ll_heap_ignore(ignored));
    CHECK(look() == before - 1);
    CHECK(said.blocks[LL_GROUP_ignored] == 1 && said.blocks[LL_GROUP_reachable] == 1);
}

static void a_thread_that_runs_on_is_told(void) {
    struct ll_stopped_thread runs_on = {.tid = 4711};
    struct ll_world world = {.threads = &runs_on, .count = 1};
    look_at(&world);
    CHECK(said.not_seen == 1);
}

static void reachable_blocks_can_go_without_stacks(void) {
    roots[0] = allocate(48);
    void** second = allocate(8);
    *second = roots[0];
    roots[0] = second;
    ll_options.reachable = false;
    look();
    unsigned together = said.groups;
    CHECK(said.blocks[LL_GROUP_reachable] >= 2);
    ll_options.reachable = true;
    look();
    CHECK(said.groups > together);
    roots[0] = NULL;
}

// Many blocks of few stacks leave a small recording.
static void the_recording_grows_with_stacks_and_not_with_blocks(void) {
    for (int i = 0; i < 20000; i++) {
        allocate(16);
    }
    recording_file_read(&file);
    size_t before = file.length;
    CHECK(look() > 20000 - 1);
    CHECK(file.length - before < 4000);
}

// In a forked child: only what the child allocated is reported, and all names anew.
static void look_in_child(void) {
    ll_recording_fork_child();
    void** own = allocate(40);
    CHECK(look() == 1);
    CHECK(said.blocks[LL_GROUP_lost] == 1 && said.bytes[LL_GROUP_lost] == 40);
    CHECK(said.nodes > 3 && said.modules > 0);
    // Reachable through a block of the parent that a root leads to.
    void** inherited = roots[2];
    inherited[0] = own;
    CHECK(look() == 0);
    CHECK(said.blocks[LL_GROUP_reachable] == 1);
    // Hung on a block that the parent lost: the child's loss.
    roots[2] = NULL;
    CHECK(look() == 1);
    CHECK(said.blocks[LL_GROUP_lost] == 1 && said.bytes[LL_GROUP_lost] == 40);
}

static void a_child_reports_its_own_blocks_only(void) {
    roots[2] = allocate(64);
    look();
    ll_heap_fork_prepare();
    pid_t child = fork();
    if (child == 0) {
        ll_heap_fork_child();
        ll_stack_fork_child();
        failures = 0;
        look_in_child();
        _exit(failures);
    }
    ll_heap_fork_parent();
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
}

int main(void) {
    CHECK(ll_heap_start() && ll_stack_start(64));
    recording_file_make(&file);
    CHECK(ll_recording_start(file.path));
    ll_roots_limit(LL_ROOTS_REGISTERED);
    ll_roots_add(roots, sizeof roots);
    lost_blocks_and_what_they_lead_to();
    ignored_blocks_are_roots();
    a_thread_that_runs_on_is_told();
    reachable_blocks_can_go_without_stacks();
    the_recording_grows_with_stacks_and_not_with_blocks();
    a_child_reports_its_own_blocks_only();
    recording_file_remove(&file);
    return failures != 0;
}
