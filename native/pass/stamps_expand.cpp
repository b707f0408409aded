#include "stamps_expand.h"

#include "stamps_code.h"
#include "stamps_contexts.h"
#include "stamps_copying.h"
#include "stamps_emit.h"
#include "stamps_helpers.h"
#include "stamps_leaving.h"
#include "stamps_outside.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"

#include <vector>

namespace leakline {

namespace {

// Notes of one block with nothing between them that may tick the clock.
using Group = std::vector<llvm::CallInst*>;

struct NotesOfFunction {
    std::vector<Group> in_line;
    std::vector<llvm::CallInst*> left;      // to a function
    std::vector<llvm::CallInst*> lost_from; // of slots, with their addresses
    std::vector<llvm::CallInst*> born;
};

class Expander {
  public:
    explicit Expander(llvm::Module& module) : code_(module), helpers_(module, code_) {
    }

    void expand(const NotesOfFunction& notes, llvm::Value* handed);

  private:
    void stamp(const NotesOfFunction& notes, llvm::AllocaInst* context) const;
    void expand_lost_from(llvm::CallInst* note, llvm::Value* handed);
    void expand_born(llvm::CallInst* note, llvm::Value* handed);

    NoteCode code_;
    Helpers helpers_;
};

llvm::Value* context_of(llvm::IRBuilder<>& builder, const llvm::Function& function,
                        llvm::Value* handed) {
    return builder.CreateAdd(builder.CreateTrunc(handed, builder.getInt32Ty()),
                             builder.getInt32(Contexts::number_of(function)));
}

// The context of a function's notes, as a variable in its frame.
llvm::AllocaInst* keep_context(llvm::Instruction* handed) {
    llvm::Function* function = handed->getFunction();
    llvm::IRBuilder<> start(&*function->getEntryBlock().begin());
    auto* place = start.CreateAlloca(start.getInt32Ty());
    llvm::IRBuilder<> behind(handed->getNextNode());
    behind.CreateStore(context_of(behind, *function, handed), place);
    return place;
}

Note note_of(const llvm::CallInst* call) {
    return {call->getArgOperand(0), call->getArgOperand(1)};
}

void Expander::expand(const NotesOfFunction& notes, llvm::Value* handed) {
    if (!notes.in_line.empty() || !notes.left.empty()) {
        stamp(notes, keep_context(llvm::cast<llvm::Instruction>(handed)));
    }
    for (llvm::CallInst* note : notes.lost_from) {
        expand_lost_from(note, handed);
    }
    for (llvm::CallInst* note : notes.born) {
        expand_born(note, handed);
    }
}

// All notes of a group are looked at where the last one stands.
void Expander::stamp(const NotesOfFunction& notes, llvm::AllocaInst* context) const {
    for (const Group& group : notes.in_line) {
        llvm::IRBuilder<> builder(group.back());
        llvm::SmallVector<Note> together(llvm::map_range(group, note_of));
        code_.write_in_line(builder, together, context);
        llvm::for_each(group, [](llvm::CallInst* call) { call->eraseFromParent(); });
    }
    for (llvm::CallInst* call : notes.left) {
        llvm::IRBuilder<> builder(call);
        code_.write_call(builder, note_of(call), context);
        call->eraseFromParent();
    }
}

// Where births are noted, exactness counts more than speed.
void Expander::expand_lost_from(llvm::CallInst* note, llvm::Value* handed) {
    llvm::IRBuilder<> builder(note);
    helpers_.call_lose_from(builder, {note->getArgOperand(0), note->getArgOperand(1),
                                      context_of(builder, *note->getFunction(), handed),
                                      note->getArgOperand(2)});
    note->eraseFromParent();
}

void Expander::expand_born(llvm::CallInst* note, llvm::Value* handed) {
    llvm::IRBuilder<> builder(note);
    helpers_.call_bear(builder, {note->getArgOperand(0), note->getArgOperand(1),
                                 context_of(builder, *note->getFunction(), handed),
                                 note->getArgOperand(2)});
    note->eraseFromParent();
}

bool is_never_heap(llvm::Value* old) {
    if (auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(old)) {
        old = freeze->getOperand(0);
    }
    return llvm::isa<llvm::Constant>(old);
}

// Functions in the order of the module. Those without notes may still have contexts to
// hand on.
using Notes = llvm::MapVector<llvm::Function*, NotesOfFunction>;

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
                std::vector<llvm::CallInst*> NotesOfFunction::* kind) {
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
        NotesOfFunction& own = notes[&function];
        Leaving leaving(function, analyses);
        for (llvm::BasicBlock& block : function) {
            if (leaving.leaves(block)) {
                find_left(block, marks.lost, own.left);
            } else {
                find_groups(block, marks.lost, own.in_line);
            }
        }
    }
    find_calls(marks.lost_from, notes, &NotesOfFunction::lost_from);
    find_calls(marks.born, notes, &NotesOfFunction::born);
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
        expander.expand(own, contexts.context(*function));
    }
    for (llvm::Function* mark : present(marks)) {
        mark->eraseFromParent();
    }
    return true;
}

} // namespace leakline
