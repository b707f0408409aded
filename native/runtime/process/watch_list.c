#include "process/watch_list.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "os/file.h"
#include "os/memory.h"
#include "os/syscall.h"

enum { SIZE_LIMIT = 64 << 20, BUILD_ID_MAX = 32 };

struct header {
    char magic[8];
    uint32_t counts[7];
    uint32_t reserved;
};

static const size_t part_sizes[] = {
    sizeof(struct ll_watch_module),   sizeof(struct ll_watch_target),
    sizeof(struct ll_watch_frame),    sizeof(struct ll_watch_use),
    sizeof(struct ll_watch_function), sizeof(struct ll_watch_point),
    sizeof(struct ll_watch_store),
};

enum { PART_COUNT = sizeof part_sizes / sizeof *part_sizes };

static char* read_all(const char* path, size_t* size_bytes) {
    struct stat status;
    int file = ll_file_open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return NULL;
    }
    char* data = NULL;
    if (ll_syscall(SYS_fstat, file, &status) == 0 && status.st_size > 0 &&
        status.st_size < SIZE_LIMIT) {
        data = ll_memory_map(((size_t)status.st_size + LL_PAGE_SIZE - 1) &
                             -(size_t)LL_PAGE_SIZE);
    }
    *size_bytes = 0;
    while (data != NULL && *size_bytes < (size_t)status.st_size) {
        long got = ll_file_read(file, data + *size_bytes,
                                (size_t)status.st_size - *size_bytes);
        if (got <= 0) {
            break;
        }
        *size_bytes += (size_t)got;
    }
    ll_file_close(file);
    return data;
}

static bool range_fits(uint32_t first, uint32_t count, uint32_t limit) {
    return first <= limit && count <= limit - first;
}

static bool target_fits(const struct ll_watch_list* list,
                        const struct ll_watch_target* target) {
    bool has_store = target->trigger == LL_WATCH_FROM_STORE;
    return range_fits(target->first_frame, target->frame_count, list->frame_count) &&
           range_fits(target->first_use, target->use_count, list->use_count) &&
           range_fits(target->first_trigger_frame, target->trigger_frame_count,
                      list->frame_count) &&
           (!has_store || target->store < list->store_count);
}

static bool targets_fit(const struct ll_watch_list* list) {
    for (uint32_t i = 0; i < list->target_count; i++) {
        if (!target_fits(list, &list->targets[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < list->module_count; i++) {
        if (list->modules[i].build_id_length > BUILD_ID_MAX) {
            return false;
        }
    }
    return true;
}

static bool points_fit(const struct ll_watch_list* list) {
    for (uint32_t i = 0; i < list->frame_count; i++) {
        if (list->frames[i].module >= list->module_count) {
            return false;
        }
    }
    for (uint32_t i = 0; i < list->use_count; i++) {
        if (list->uses[i].function >= list->function_count) {
            return false;
        }
    }
    for (uint32_t i = 0; i < list->function_count; i++) {
        const struct ll_watch_function* function = &list->functions[i];
        if (!range_fits(function->first_point, function->point_count,
                        list->point_count)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < list->point_count; i++) {
        if (list->points[i].module >= list->module_count ||
            list->points[i].function >= list->function_count) {
            return false;
        }
    }
    return true;
}

static bool is_register(uint8_t number) {
    return number < 16 || number == LL_WATCH_NO_REGISTER;
}

static bool stores_fit(const struct ll_watch_list* list) {
    for (uint32_t i = 0; i < list->store_count; i++) {
        const struct ll_watch_store* store = &list->stores[i];
        if (store->point >= list->point_count || !is_register(store->base) ||
            !is_register(store->index) || store->size_bytes > 64) {
            return false;
        }
    }
    return true;
}

bool ll_watch_list_read(const char* path, struct ll_watch_list* list) {
    size_t size_bytes;
    char* data = read_all(path, &size_bytes);
    const struct header* header = (const struct header*)data;
    if (data == NULL || size_bytes < sizeof *header ||
        memcmp(header->magic, "llwatch2", sizeof header->magic) != 0) {
        return false;
    }
    const char* parts[PART_COUNT];
    size_t at = sizeof *header;
    for (int i = 0; i < PART_COUNT; i++) {
        parts[i] = data + at;
        at += header->counts[i] * part_sizes[i];
        at = (at + 7) & ~(size_t)7;
    }
    if (at > size_bytes) {
        return false;
    }
    *list = (struct ll_watch_list){
        .modules = (const struct ll_watch_module*)parts[0],
        .targets = (const struct ll_watch_target*)parts[1],
        .frames = (const struct ll_watch_frame*)parts[2],
        .uses = (const struct ll_watch_use*)parts[3],
        .functions = (const struct ll_watch_function*)parts[4],
        .points = (const struct ll_watch_point*)parts[5],
        .stores = (const struct ll_watch_store*)parts[6],
        .module_count = header->counts[0],
        .target_count = header->counts[1],
        .frame_count = header->counts[2],
        .use_count = header->counts[3],
        .function_count = header->counts[4],
        .point_count = header->counts[5],
        .store_count = header->counts[6],
    };
    return targets_fit(list) && points_fit(list) && stores_fit(list);
}
