#include "stamps_expand.h"

#include "stamps_contexts.h"
#include "stamps_copying.h"
#include "stamps_emit.h"
#include "stamps_helpers.h"
#include "stamps_layout.h"
#include "stamps_leaving.h"
#include "stamps_outside.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <vector>

namespace leakline {

namespace {

// Notes of one block with nothing between them that may tick the clock.
using Group = std::vector<llvm::CallInst*>;

class Expander {
  public:
    explicit Expander(llvm::Module& module) : helpers_(module) {
    }

    void expand(const Group& group, llvm::Value* handed) const;
    void leave_to_function(llvm::CallInst* note, llvm::Value* handed) const;
    void expand_lost_from(llvm::CallInst* note, llvm::Value* handed);
    void expand_born(llvm::CallInst* note, llvm::Value* handed);

  private:
    void expand_one(llvm::CallInst* call, llvm::Value* handed) const;
    void expand_several(const Group& group, llvm::Value* handed) const;

    Helpers helpers_;
};

llvm::Value* context_of(llvm::IRBuilder<>& builder, const llvm::CallInst& call,
                        llvm::Value* handed) {
    return builder.CreateAdd(
        builder.CreateTrunc(handed, builder.getInt32Ty()),
        builder.getInt32(Contexts::number_of(*call.getFunction())));
}

void Expander::expand(const Group& group, llvm::Value* handed) const {
    if (group.size() == 1) {
        expand_one(group.front(), handed);
    } else {
        expand_several(group, handed);
    }
    for (llvm::CallInst* call : group) {
        call->eraseFromParent();
    }
}

// Even the question whether it is a reference.
void Expander::leave_to_function(llvm::CallInst* note, llvm::Value* handed) const {
    llvm::IRBuilder<> builder(note);
    helpers_.call_lose(builder, {note->getArgOperand(0), note->getArgOperand(1),
                                 context_of(builder, *note, handed)});
    note->eraseFromParent();
}

// Where births are noted, exactness counts more than speed.
void Expander::expand_lost_from(llvm::CallInst* note, llvm::Value* handed) {
    llvm::IRBuilder<> builder(note);
    helpers_.call_lose_from(builder, {note->getArgOperand(0), note->getArgOperand(1),
                                      context_of(builder, *note, handed),
                                      note->getArgOperand(2)});
    note->eraseFromParent();
}

void Expander::expand_born(llvm::CallInst* note, llvm::Value* handed) {
    llvm::IRBuilder<> builder(note);
    helpers_.call_bear(builder,
                       {note->getArgOperand(0), note->getArgOperand(1),
                        context_of(builder, *note, handed), note->getArgOperand(2)});
    note->eraseFromParent();
}

void Expander::expand_one(llvm::CallInst* call, llvm::Value* handed) const {
    llvm::IRBuilder<> builder(call);
    llvm::Value* old = call->getArgOperand(0);
    auto* lost = llvm::SplitBlockAndInsertIfThen(is_heap_pointer(builder, old), call,
                                                 false, nullptr);
    builder.SetInsertPoint(lost);
    llvm::Value* context = context_of(builder, *call, handed);
    llvm::Value* clock = helpers_.count(lost, context, 1);
    builder.SetInsertPoint(lost);
    Helpers::write_stamp(builder, old, call->getArgOperand(1), clock, context);
}

// The site of a note, computed where it is needed: only the code of a stamp asks for
// it.
llvm::Value* site_at(llvm::IRBuilder<>& builder, const llvm::CallInst& call) {
    auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(call.getArgOperand(1));
    if (step == nullptr || !llvm::isa<llvm::Constant>(step->getPointerOperand())) {
        return call.getArgOperand(1);
    }
    return builder.Insert(step->clone());
}

// Of two notes often none stamps. Of more mostly one does, and to look at all of them
// before would take many registers: there it is enough that somebody watches.
llvm::Value* may_stamp(llvm::IRBuilder<>& builder, const Group& group,
                       llvm::Value* tag) {
    if (group.size() > 2) {
        return builder.CreateICmpNE(tag, builder.getInt32(no_heap_tag));
    }
    return builder.CreateOr(has_tag(builder, group.front()->getArgOperand(0), tag),
                            has_tag(builder, group.back()->getArgOperand(0), tag));
}

// All are looked at where the last one stands. The clock is read and written once for
// all: it would be the slowest part of a stamp, each waiting for the one before.
void Expander::expand_several(const Group& group, llvm::Value* handed) const {
    llvm::IRBuilder<> builder(group.back());
    llvm::Value* tag = load_heap_tag(builder);
    auto* end = llvm::SplitBlockAndInsertIfThen(may_stamp(builder, group, tag),
                                                group.back(), false);
    builder.SetInsertPoint(end);
    llvm::Value* context = context_of(builder, *group.back(), handed);
    llvm::Value* clock = helpers_.count(end, context, group.size());
    uint64_t ticks_behind = group.size();
    for (llvm::CallInst* call : group) {
        ticks_behind--;
        builder.SetInsertPoint(end);
        llvm::Value* old = call->getArgOperand(0);
        builder.SetInsertPoint(
            llvm::SplitBlockAndInsertIfThen(has_tag(builder, old, tag), end, false));
        llvm::Value* time = builder.CreateSub(clock, builder.getInt64(ticks_behind));
        Helpers::write_stamp(builder, old, site_at(builder, *call), time, context);
    }
}

bool is_never_heap(llvm::Value* old) {
    if (auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(old)) {
        old = freeze->getOperand(0);
    }
    return llvm::isa<llvm::Constant>(old);
}

struct FunctionNotes {
    std::vector<Group> groups;
    std::vector<llvm::CallInst*> left;      // to a function
    std::vector<llvm::CallInst*> lost_from; // of slots, with their addresses
    std::vector<llvm::CallInst*> born;
};

// Functions in the order of the module. Those without notes may still have contexts to
// hand on.
using Notes = llvm::MapVector<llvm::Function*, FunctionNotes>;

// What instrumented functions call for code that is written here; null: nobody does.
struct Marks {
    llvm::Function* lost;
    llvm::Function* lost_from;
    llvm::Function* born;
};

// False for what may note losses of its own, and so tick the clock.
bool keeps_clock(const llvm::Instruction& instruction, const llvm::Function* lost) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call == nullptr || call->isInlineAsm() ||
           llvm::isa<llvm::IntrinsicInst>(call) || call->getCalledFunction() == lost;
}

// LLVM 19 may place what is read at the start of a landing pad before its label, where
// it is never run: notes are on their own there.
void find_groups(llvm::BasicBlock& block, const llvm::Function* lost,
                 std::vector<Group>& groups) {
    Group group;
    auto finish = [&] {
        if (!group.empty()) {
            groups.push_back(std::move(group));
            group = {};
        }
    };
    for (llvm::Instruction& instruction : block) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call != nullptr && call->getCalledFunction() == lost) {
            group.push_back(call);
        }
        if (!keeps_clock(instruction, lost) || block.isLandingPad()) {
            finish();
        }
    }
    finish();
}

// What is known to be no heap pointer needs no code.
void erase_needless(llvm::Function* mark) {
    for (llvm::User* user : llvm::make_early_inc_range(mark->users())) {
        auto* call = llvm::cast<llvm::CallInst>(user);
        if (is_never_heap(call->getArgOperand(0))) {
            call->eraseFromParent();
        }
    }
}

std::vector<llvm::Function*> present(const Marks& marks) {
    std::vector<llvm::Function*> found;
    for (llvm::Function* mark : {marks.lost, marks.lost_from, marks.born}) {
        if (mark != nullptr) {
            found.push_back(mark);
        }
    }
    return found;
}

void find_calls(llvm::Function* mark, Notes& notes,
                std::vector<llvm::CallInst*> FunctionNotes::* kind) {
    if (mark != nullptr) {
        for (llvm::User* user : mark->users()) {
            auto* call = llvm::cast<llvm::CallInst>(user);
            (notes[call->getFunction()].*kind).push_back(call);
        }
    }
}

void find_left(llvm::BasicBlock& block, const llvm::Function* lost,
               std::vector<llvm::CallInst*>& left) {
    for (llvm::Instruction& instruction : block) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call != nullptr && call->getCalledFunction() == lost) {
            left.push_back(call);
        }
    }
}

Notes find_notes(llvm::Module& module, const Marks& marks,
                 llvm::FunctionAnalysisManager& analyses) {
    Notes notes;
    for (llvm::Function& function : module) {
        if (function.isDeclaration()) {
            continue;
        }
        FunctionNotes& own = notes[&function];
        Leaving leaving(function, analyses);
        for (llvm::BasicBlock& block : function) {
            if (leaving.leaves(block)) {
                find_left(block, marks.lost, own.left);
            } else {
                find_groups(block, marks.lost, own.groups);
            }
        }
    }
    find_calls(marks.lost_from, notes, &FunctionNotes::lost_from);
    find_calls(marks.born, notes, &FunctionNotes::born);
    return notes;
}

} // namespace

bool expand_stamps(llvm::Module& module, llvm::FunctionAnalysisManager& analyses) {
    place_outside_notes(module);
    join_copies(module);
    analyses.clear();
    Marks marks = {module.getFunction(lost_name), module.getFunction(lost_from_name),
                   module.getFunction(born_name)};
    for (llvm::Function* mark : present(marks)) {
        erase_needless(mark);
    }
    if (present(marks).empty()) {
        return false;
    }
    Notes notes = find_notes(module, marks, analyses);
    Contexts contexts(module);
    Expander expander(module);
    for (auto& [function, own] : notes) {
        llvm::Value* handed = contexts.context(*function);
        for (const Group& group : own.groups) {
            expander.expand(group, handed);
        }
        for (llvm::CallInst* note : own.left) {
            expander.leave_to_function(note, handed);
        }
        for (llvm::CallInst* note : own.lost_from) {
            expander.expand_lost_from(note, handed);
        }
        for (llvm::CallInst* note : own.born) {
            expander.expand_born(note, handed);
        }
    }
    for (llvm::Function* mark : present(marks)) {
        mark->eraseFromParent();
    }
    return true;
}

} // namespace leakline
