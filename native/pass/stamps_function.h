// Puts the notes of lost references into one function.
#pragma once
#include "stamps_emit.h"
#include "stamps_losing.h"
#include "stamps_sites.h"

namespace leakline {

struct Tools {
    SiteTable& sites;
    const Emitter& emitter;
    const Losing& losing;
};

void instrument(llvm::Function& function, const Tools& tools);

} // namespace leakline
