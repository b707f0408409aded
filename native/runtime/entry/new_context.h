// The hook that code of `leakline cc` calls when it stamps with a new context.
#pragma once
#include <stdint.h>

// To be asked for once, before any code calls the hook. The hook leaves vector
// registers alone: code that calls it may have values there.
void (*ll_new_context_hook(void))(uint32_t context);
