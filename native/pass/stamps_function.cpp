#include "stamps_function.h"

#include "stamps_debug.h"
#include "stamps_destroying.h"
#include "stamps_dynamic.h"
#include "stamps_memory.h"
#include "stamps_passing.h"
#include "stamps_released.h"
#include "stamps_scopes.h"
#include "stamps_temporaries.h"
#include "stamps_unwinding.h"
#include "stamps_variables.h"

#include "llvm/IR/InstIterator.h"

namespace leakline {

namespace {

// The function no longer only computes: it writes stamps.
void forget_purity(llvm::Function& function) {
    function.removeFnAttr(llvm::Attribute::Memory);
    for (llvm::User* user : function.users()) {
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(user)) {
            call->removeFnAttr(llvm::Attribute::Memory);
        }
    }
}

// What a block holds when it is freed is lost then: stores before it must not be left
// out because nobody could read them.
void keep_stores_before_release(llvm::Function& function) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call != nullptr && releases_block(*call)) {
            call->removeFnAttr(llvm::Attribute::Builtin);
            call->addFnAttr(llvm::Attribute::NoBuiltin);
        }
    }
}

void note_temporaries(const std::vector<Temporary>& temporaries,
                      llvm::Function& function, const Tools& tools) {
    for (const Temporary& temporary : temporaries) {
        llvm::DebugLoc where = temporary.last_use->getDebugLoc();
        if (llvm::Instruction* next = next_after(temporary.last_use)) {
            llvm::Value* site =
                tools.sites.add({where, &function, temporary.name, temporary.cause});
            tools.emitter.lost(next, temporary.value, site, where);
        }
    }
}

} // namespace

// All decisions come before the first note. A coroutine is still one function here: it
// returns whenever it waits, its variables go on living in a block of the heap, and
// what that block holds at the end is lost when it is freed.
void instrument(llvm::Function& function, const Tools& tools) {
    set_debug_information_apart(function);
    bool has_unwinding = !function.isPresplitCoroutine() && add_unwinding(function);
    std::vector<llvm::Instruction*> marks = mark_scopes(function);
    Slots slots = find_slots(function);
    slots.outlive_scopes = has_unwinding || !marks.empty();
    std::vector<Temporary> temporaries =
        find_temporaries(function, slots, tools.losing);
    slots.ends_of_results = ends_of_results(temporaries);
    find_releases(function, tools.losing, slots);
    Drops drops = find_drops(function, slots, tools.losing);
    MemoryAccesses accesses = find_memory_accesses(function, slots);
    std::vector<llvm::CallBase*> destroying = find_destroying(function);
    std::vector<llvm::AllocaInst*> rooms = find_dynamic_room(function);

    Released released(function, slots, drops);
    forget_purity(function);
    keep_stores_before_release(function);
    note_overwritten_memory(accesses, released, function, tools);
    note_temporaries(temporaries, function, tools);
    note_destroyed(destroying, function, tools);
    note_variables(slots, drops, released, function, tools);
    clear_passing(slots, function);
    note_dynamic_room(rooms, function, tools);
    for (llvm::Instruction* mark : marks) {
        mark->eraseFromParent();
    }
}

} // namespace leakline
