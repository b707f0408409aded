// CRC-32 as in IEEE 802.3 and zlib, which guards each chunk of a recording.
#pragma once
#include <stddef.h>
#include <stdint.h>

uint32_t ll_crc32(const void* data, size_t size_bytes);
