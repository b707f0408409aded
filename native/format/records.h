// C view of records.def: one packed struct and one tag per record, one enumerator per
// constant.
#pragma once
#include <stdint.h>

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;

#define LL_FILE_MAGIC 0x656e696c6b61656cULL // "leakline"
#define LL_CHUNK_MAGIC 0x4b434c4cU          // "LLCK"
#define LL_STATUS_UNKNOWN UINT32_MAX        // in process_end
enum { LL_RECORDING_VERSION = 1 };

#define RECORD(name, tag) struct __attribute__((packed)) ll_record_##name {
#define FIELD(type, name) type name;
#define END_RECORD(name)                                                               \
    }                                                                                  \
    ;
#define CONSTANT(group, name, value)
#include "records.def"
#undef RECORD
#undef FIELD
#undef END_RECORD
#undef CONSTANT

enum {
#define RECORD(name, tag) LL_RECORD_##name = tag,
#define FIELD(type, name)
#define END_RECORD(name)
#define CONSTANT(group, name, value) LL_##group##_##name = value,
#include "records.def"
#undef RECORD
#undef FIELD
#undef END_RECORD
#undef CONSTANT
};
