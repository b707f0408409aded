// Finds the table entry (FDE and its common part, the CIE) of an address by the binary
// search table in .eh_frame_hdr, or by a scan of .eh_frame where that table is missing.
#include "stack/cfi.h"

#include <string.h>

#include "stack/bytes.h"
#include "stack/image.h"

enum { TERMINATOR = 0, EXTENDED_LENGTH = 0xffffffff, COMMON_ENTRY = 0 };

// What both kinds of entry begin with.
struct entry {
    struct ll_bytes body; // behind the id
    const uint8_t* id_field;
    uint32_t id; // COMMON_ENTRY, or the distance back to the common part
    bool terminator;
};

struct common {
    struct ll_cfi_program program;
    bool has_augmentation;
    bool signal_frame;
};

// The part of an image in which its unwind tables lie.
struct tables {
    const struct ll_image* image;
    const uint8_t* frames; // .eh_frame
};

static struct ll_bytes bytes_at(const struct tables* tables, const uint8_t* start) {
    uintptr_t end = ll_image_readable_until(tables->image, (uintptr_t)start);
    return (struct ll_bytes){start, end ? (const uint8_t*)end : start, end == 0};
}

static struct entry entry_at(const struct tables* tables, const uint8_t* start) {
    struct ll_bytes bytes = bytes_at(tables, start);
    uint64_t length = ll_bytes_u32(&bytes);
    if (length == EXTENDED_LENGTH) {
        length = ll_bytes_fixed(&bytes, 8);
    }
    struct entry entry = {.id_field = bytes.at, .terminator = length == TERMINATOR};
    struct ll_bytes rest = bytes;
    ll_bytes_skip(&rest, length);
    entry.id = ll_bytes_u32(&bytes);
    entry.body = (struct ll_bytes){bytes.at, rest.at, bytes.bad || rest.bad};
    if (entry.body.at > entry.body.end) {
        entry.body.bad = true;
    }
    return entry;
}

// Reads the part of the augmentation that the letters of `text` describe.
static void read_augmentation(struct ll_bytes* bytes, const char* text,
                              struct common* common) {
    for (; *text != '\0' && !bytes->bad; text++) {
        switch (*text) {
        case 'R':
            common->program.pointer_encoding = ll_bytes_u8(bytes);
            break;
        case 'P':
            ll_bytes_encoded(bytes, ll_bytes_u8(bytes), 0);
            break;
        case 'L':
            ll_bytes_u8(bytes);
            break;
        case 'S':
            common->signal_frame = true;
            break;
        case 'B':
            break;
        default:
            return;
        }
    }
}

static bool read_common(const struct tables* tables, const uint8_t* start,
                        struct common* common) {
    struct entry entry = entry_at(tables, start);
    struct ll_bytes* bytes = &entry.body;
    uint8_t version = ll_bytes_u8(bytes);
    const char* augmentation = (const char*)bytes->at;
    size_t length = strnlen(augmentation, (size_t)(bytes->end - bytes->at));
    ll_bytes_skip(bytes, length + 1);
    if (bytes->bad || entry.id != COMMON_ENTRY || (version != 1 && version != 3)) {
        return false;
    }
    memset(common, 0, sizeof *common);
    common->program.code_factor = ll_bytes_uleb(bytes);
    common->program.data_factor = ll_bytes_sleb(bytes);
    uint64_t ra = version == 1 ? ll_bytes_u8(bytes) : ll_bytes_uleb(bytes);
    common->has_augmentation = augmentation[0] == 'z';
    if (common->has_augmentation) {
        uint64_t data_length = ll_bytes_uleb(bytes);
        struct ll_bytes data = *bytes;
        ll_bytes_skip(bytes, data_length);
        data.end = bytes->at;
        read_augmentation(&data, augmentation + 1, common);
        bytes->bad |= data.bad;
    }
    common->program.start = bytes->at;
    common->program.end = bytes->end;
    return !bytes->bad && ra == LL_CFI_RETURN_ADDRESS &&
           (common->has_augmentation || augmentation[0] == '\0');
}

static void reset(const struct tables* tables, struct ll_cfi_row* row) {
    memset(row, 0, sizeof *row);
    row->base = tables->frames;
}

// Fills `row` from the entry if that covers `address`.
static bool row_from_entry(const struct tables* tables, const struct entry* entry,
                           uintptr_t address, struct ll_cfi_row* row) {
    struct common common;
    struct ll_bytes bytes = entry->body;
    if (bytes.bad || entry->terminator || entry->id == COMMON_ENTRY ||
        !read_common(tables, entry->id_field - entry->id, &common)) {
        return false;
    }
    uint8_t encoding = common.program.pointer_encoding;
    uintptr_t start = ll_bytes_encoded(&bytes, encoding, 0);
    uint64_t length = ll_bytes_encoded(&bytes, encoding & 0x0f, 0);
    if (common.has_augmentation) {
        ll_bytes_skip(&bytes, ll_bytes_uleb(&bytes));
    }
    if (bytes.bad || address < start || address - start >= length) {
        return false;
    }
    reset(tables, row);
    row->signal_frame = common.signal_frame;
    row->end = bytes.end > common.program.end ? bytes.end : common.program.end;
    if (!ll_cfi_run(&common.program, 0, UINTPTR_MAX, NULL, row)) {
        return false;
    }
    struct ll_cfi_row initial = *row;
    common.program.start = bytes.at;
    common.program.end = bytes.end;
    return ll_cfi_run(&common.program, start, address, &initial, row);
}

// The search table behind the head of .eh_frame_hdr.
struct search_table {
    const uint8_t* start;
    uint64_t count;
    uint8_t encoding;
    unsigned field_size;
    uintptr_t base;
};

static bool read_header(struct tables* tables, struct search_table* table) {
    struct ll_bytes bytes = bytes_at(tables, tables->image->eh_header);
    table->base = (uintptr_t)bytes.at;
    uint8_t version = ll_bytes_u8(&bytes);
    uint8_t frames_encoding = ll_bytes_u8(&bytes);
    uint8_t count_encoding = ll_bytes_u8(&bytes);
    table->encoding = ll_bytes_u8(&bytes);
    tables->frames =
        (const uint8_t*)ll_bytes_encoded(&bytes, frames_encoding, table->base);
    table->count = ll_bytes_encoded(&bytes, count_encoding, table->base);
    table->start = bytes.at;
    table->field_size = ll_encoding_size(table->encoding);
    if (count_encoding == LL_ENCODING_OMITTED ||
        table->encoding == LL_ENCODING_OMITTED || table->field_size == 0) {
        table->count = 0;
    }
    uint64_t room = (uint64_t)(bytes.end - bytes.at);
    return !bytes.bad && version == 1 &&
           (table->count == 0 || table->count <= room / (2 * table->field_size));
}

// Field 0 of a pair is the start of the code, field 1 its entry.
static uintptr_t table_field(const struct search_table* table, uint64_t index,
                             unsigned field) {
    struct ll_bytes bytes = {.at = table->start +
                                   (2 * index + field) * table->field_size};
    bytes.end = bytes.at + table->field_size;
    return ll_bytes_encoded(&bytes, table->encoding, table->base);
}

static const uint8_t* search(const struct search_table* table, uintptr_t address) {
    uint64_t low = 0;
    uint64_t high = table->count;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (table_field(table, middle, 0) <= address) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (const uint8_t*)table_field(table, low, 1);
}

static bool scan(const struct tables* tables, uintptr_t address,
                 struct ll_cfi_row* row) {
    const uint8_t* at = tables->frames;
    for (;;) {
        struct entry entry = entry_at(tables, at);
        if (entry.body.bad || entry.terminator) {
            return false;
        }
        if (row_from_entry(tables, &entry, address, row)) {
            return true;
        }
        at = entry.body.end;
    }
}

enum ll_cfi_found ll_cfi_find_in(const struct ll_image* image, uintptr_t address,
                                 struct ll_cfi_row* row) {
    struct tables tables = {.image = image};
    struct search_table table;
    if (image->eh_header == NULL || !read_header(&tables, &table)) {
        return LL_CFI_NO_ROW;
    }
    if (table.count == 0) {
        return scan(&tables, address, row) ? LL_CFI_FOUND : LL_CFI_NO_ROW;
    }
    struct entry entry = entry_at(&tables, search(&table, address));
    return row_from_entry(&tables, &entry, address, row) ? LL_CFI_FOUND : LL_CFI_NO_ROW;
}

enum ll_cfi_found ll_cfi_find(uintptr_t address, struct ll_cfi_row* row) {
    struct ll_image image;
    return ll_image_at(address, &image) ? ll_cfi_find_in(&image, address, row)
                                        : LL_CFI_NO_IMAGE;
}
