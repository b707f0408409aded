// Call frame information: what .eh_frame says about finding the caller of one code
// address. A *row* holds, for that address, where the frame's CFA (the stack pointer
// before the call) lies and where each of the caller's registers was saved.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "os/world.h"

// DWARF numbers of the registers that a row describes; the last is the return address.
enum { LL_CFI_REGISTERS = 17, LL_CFI_RETURN_ADDRESS = 16 };

enum ll_cfi_kind {
    LL_CFI_UNCHANGED,        // the caller's value is still in the register
    LL_CFI_UNDEFINED,        // it is gone; for the return address: no caller
    LL_CFI_SAVED,            // saved at CFA + value
    LL_CFI_CFA,              // it is CFA + value
    LL_CFI_REGISTER,         // it is in another register; for the CFA: that plus offset
    LL_CFI_SAVED_EXPRESSION, // saved at the address that an expression gives
    LL_CFI_EXPRESSION,       // an expression gives it
};

struct ll_cfi_rule {
    uint8_t kind;
    uint8_t reg;   // for LL_CFI_REGISTER
    int32_t value; // offset, for expressions: bytes from ll_cfi_row.base
};

struct ll_cfi_row {
    struct ll_cfi_rule cfa; // LL_CFI_REGISTER or LL_CFI_EXPRESSION
    struct ll_cfi_rule registers[LL_CFI_REGISTERS];
    bool signal_frame;   // the caller was interrupted: its pc is exact
    const uint8_t* base; // what offsets of expressions count from
    const uint8_t* end;  // no expression reaches past this
};

enum ll_cfi_found {
    LL_CFI_FOUND,
    LL_CFI_NO_IMAGE, // code outside of all images, as a JIT makes it
    LL_CFI_NO_ROW,   // no (readable) entry for the address
};

// The row for the instruction at `address` (for a caller: its return address minus 1).
enum ll_cfi_found ll_cfi_find(uintptr_t address, struct ll_cfi_row* row);

// The same in the tables of one image.
struct ll_image;
enum ll_cfi_found ll_cfi_find_in(const struct ll_image* image, uintptr_t address,
                                 struct ll_cfi_row* row);

// Runs the instructions of a table entry. `initial` is what DW_CFA_restore goes back
// to; NULL while the common part itself runs. Stops at `target`. False when malformed.
struct ll_cfi_program {
    const uint8_t* start;
    const uint8_t* end;
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t pointer_encoding;
};
bool ll_cfi_run(const struct ll_cfi_program* program, uintptr_t location,
                uintptr_t target, const struct ll_cfi_row* initial,
                struct ll_cfi_row* row);
