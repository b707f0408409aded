// Redirects a function that does nothing: debuggers have such functions called so that
// they can stop there.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// Lets calls of the empty function at `function` go to `hook`, which must be a plain
// function without arguments. False, and nothing changed, when the function is not
// empty or the system forbids it. No other thread may be in it.
bool ll_redirect_empty(uintptr_t function, void (*hook)(void));
