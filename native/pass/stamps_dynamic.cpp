#include "stamps_dynamic.h"

#include "stamps_exits.h"
#include "stamps_names.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace leakline {

namespace {

llvm::Value* room_bytes(llvm::IRBuilder<>& builder, llvm::AllocaInst* room) {
    uint64_t element =
        room->getModule()->getDataLayout().getTypeAllocSize(room->getAllocatedType());
    return builder.CreateMul(
        builder.CreateZExtOrTrunc(room->getArraySize(), builder.getInt64Ty()),
        builder.getInt64(element));
}

// Where the stack pointer goes back to what it was before the room was taken.
std::vector<llvm::Instruction*> ends_of(llvm::AllocaInst* room,
                                        llvm::Function& function,
                                        const llvm::DominatorTree& dominators) {
    std::vector<llvm::Instruction*> restores;
    std::vector<llvm::Instruction*> exits;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (!dominators.dominates(room, &instruction)) {
            continue;
        }
        if (call != nullptr &&
            call->getIntrinsicID() == llvm::Intrinsic::stackrestore) {
            restores.push_back(call);
        } else if (llvm::isa<llvm::ReturnInst>(instruction)) {
            exits.push_back(&instruction);
        }
    }
    return restores.empty() ? exits : restores;
}

} // namespace

std::vector<llvm::AllocaInst*> find_dynamic_room(llvm::Function& function) {
    std::vector<llvm::AllocaInst*> rooms;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* room = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
        if (room != nullptr && !room->isStaticAlloca() && !room->isSwiftError()) {
            rooms.push_back(room);
        }
    }
    return rooms;
}

void note_dynamic_room(llvm::ArrayRef<llvm::AllocaInst*> rooms,
                       llvm::Function& function, const Tools& tools) {
    llvm::DominatorTree dominators(function);
    Exits exits(function);
    for (llvm::AllocaInst* room : rooms) {
        llvm::DILocalVariable* variable = variable_of(room);
        std::string name = variable != nullptr ? variable->getName().str() : "";
        for (llvm::Instruction* end : ends_of(room, function, dominators)) {
            llvm::IRBuilder<> builder(end);
            Site own = {end->getDebugLoc(), &function, name, Cause::out_of_scope};
            llvm::Value* site =
                site_of_way(exits.ways(end), own, {}, tools.sites, builder);
            tools.emitter.lost_in(end, room, room_bytes(builder, room), site,
                                  end->getDebugLoc());
        }
        llvm::IRBuilder<> builder(room->getNextNode());
        builder.CreateMemSet(room, builder.getInt8(0), room_bytes(builder, room),
                             room->getAlign());
    }
}

} // namespace leakline
