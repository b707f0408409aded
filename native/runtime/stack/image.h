// An *image* is an ELF file as the loader mapped it. Finding the image of an address
// takes no lock of libc, so it is allowed inside malloc and in signal handlers.
#pragma once
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct ll_image {
    // Where its code lies. The whole image if that is mapped without holes, and then
    // the ELF header is at the start.
    uintptr_t start;
    uintptr_t end;
    uintptr_t bias;           // address minus link-time address
    const char* name;         // as the loader calls it, "" for the program itself
    const uint8_t* eh_header; // .eh_frame_hdr, NULL if it has none
};

// The image that contains `address` now.
bool ll_image_at(uintptr_t address, struct ll_image* image);

// The program headers of an image; their number, 0 when they cannot be read.
unsigned ll_image_segments(const struct ll_image* image, const ElfW(Phdr) * *segments);

// The end of the readable segment that contains `address`, 0 if none does.
uintptr_t ll_image_readable_until(const struct ll_image* image, uintptr_t address);
