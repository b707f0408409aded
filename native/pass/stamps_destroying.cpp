#include "stamps_destroying.h"

#include "stamps_callees.h"
#include "stamps_freeing.h"
#include "stamps_names.h"
#include "stamps_slots.h"
#include "stamps_temporaries.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/InstIterator.h"

namespace leakline {

namespace {

// One that does not free the object as well.
bool only_destroys(const llvm::CallBase& call) {
    llvm::StringRef name = callee_name(call);
    return call.arg_size() == 1 && is_destructor(name) && !is_deleting_destructor(name);
}

// Such objects are looked at where their scope ends.
bool is_in_frame(llvm::Value* object, llvm::SmallPtrSetImpl<llvm::Value*>& known) {
    llvm::Value* base = base_of(object);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(base)) {
        return known.insert(phi).second &&
               llvm::any_of(phi->incoming_values(), [&](llvm::Value* value) {
                   return is_in_frame(value, known);
               });
    }
    return llvm::isa<llvm::AllocaInst>(base);
}

bool is_freed(const llvm::Value* object) {
    return llvm::any_of(object->users(), [](const llvm::User* user) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(user);
        return call != nullptr && frees_block(*call);
    });
}

// The object of which a member function was called: the variable that its first
// parameter is kept in.
const llvm::Value* place_of_this(const llvm::Function& function) {
    for (const llvm::User* user : function.getArg(0)->users()) {
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
            return store->getPointerOperand();
        }
    }
    return nullptr;
}

// A part of an object is told with the whole.
bool is_part(llvm::Value* object, const llvm::Value* place_of_whole) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(base_of(object));
    return load != nullptr && load->getPointerOperand() == place_of_whole;
}

} // namespace

std::vector<llvm::CallBase*> find_destroying(llvm::Function& function) {
    std::vector<llvm::CallBase*> calls;
    const llvm::Value* whole =
        is_destructor(function.getName()) ? place_of_this(function) : nullptr;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call == nullptr || !only_destroys(*call) ||
            call->getParamDereferenceableBytes(0) < sizeof(uint64_t)) {
            continue;
        }
        llvm::Value* object = call->getArgOperand(0);
        llvm::SmallPtrSet<llvm::Value*, 4> known;
        if (!is_in_frame(object, known) && !is_freed(object) &&
            (whole == nullptr || !is_part(object, whole))) {
            calls.push_back(call);
        }
    }
    return calls;
}

void note_destroyed(llvm::ArrayRef<llvm::CallBase*> calls, llvm::Function& function,
                    const Tools& tools) {
    for (llvm::CallBase* call : calls) {
        llvm::Instruction* next = next_after(call);
        if (next == nullptr) {
            continue;
        }
        llvm::Value* object = call->getArgOperand(0);
        llvm::DebugLoc where = call->getDebugLoc();
        llvm::IRBuilder<> builder(next);
        llvm::Value* bytes = builder.getInt64(call->getParamDereferenceableBytes(0));
        llvm::ConstantInt* site = tools.sites.add(
            {where, &function, name_of_memory(object), Cause::out_of_scope});
        tools.emitter.lost_in(next, object, bytes, site, where);
    }
}

} // namespace leakline
