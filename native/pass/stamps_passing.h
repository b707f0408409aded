// Room in the frame that is no variable with references of its own: objects of the
// compiler on their way elsewhere, as arguments that are passed by their address, of
// which clang does not tell the scope; and numbers or bytes whose address is given
// away.
#pragma once
#include "stamps_slots.h"

namespace leakline {

// The room is empty when somebody is given its address to fill it. What older frames
// left there, or the object of an earlier turn of a loop, is no reference that this
// loses.
void clear_passing(const Slots& slots, llvm::Function& function);

} // namespace leakline
