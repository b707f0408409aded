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
    Expander(llvm::Module& module, llvm::GlobalVariable* sites)
        : code_(module, sites), helpers_(module, code_) {
    }

    void expand(const NotesOfFunction& notes, llvm::Value* handed);

  private:
    void stamp(const NotesOfFunction& notes, llvm::AllocaInst* context) const;
    void stamp_together(const Group& run, llvm::AllocaInst* context) const;
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

bool is_note(const llvm::Instruction& instruction, const llvm::Function* mark) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    return call != nullptr && call->getCalledFunction() == mark;
}

bool is_in_frame(const llvm::Value* address) {
    auto* variable =
        llvm::dyn_cast<llvm::AllocaInst>(address->stripInBoundsConstantOffsets());
    return variable != nullptr && variable->isStaticAlloca();
}

// The value that a note has as a number.
llvm::Value* value_of(llvm::Value* number) {
    while (llvm::isa<llvm::FreezeInst, llvm::PtrToIntInst>(number)) {
        number = llvm::cast<llvm::Instruction>(number)->getOperand(0);
    }
    return number;
}

// The place in the frame that a note is of, if it still holds the same at `end`.
llvm::Value* place_in_frame(const llvm::CallInst* note, const llvm::CallInst* end) {
    llvm::Value* old = value_of(note->getArgOperand(0));
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(old);
    if (load == nullptr || !load->isSimple() || load->getParent() != end->getParent() ||
        !is_in_frame(load->getPointerOperand())) {
        return nullptr;
    }
    auto may_write = [&](const llvm::Instruction& between) {
        return between.mayWriteToMemory() &&
               !is_note(between, note->getCalledFunction());
    };
    auto between = llvm::make_range(load->getIterator(), end->getIterator());
    return llvm::any_of(between, may_write) ? nullptr : llvm::getPointerOperand(old);
}

// The address of a place in the frame, computed where it is used: there it is part of
// an instruction, elsewhere it would take a register for each place.
llvm::Value* address_at(llvm::IRBuilder<>& builder, llvm::Value* place) {
    llvm::APInt offset(64, 0);
    llvm::Value* variable = place->stripAndAccumulateInBoundsConstantOffsets(
        builder.GetInsertBlock()->getModule()->getDataLayout(), offset);
    return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), variable,
                                              offset.getZExtValue());
}

// The note that a call becomes at the place of another one.
Note note_of(llvm::IRBuilder<>& builder, const llvm::CallInst* call,
             const llvm::CallInst* end) {
    llvm::Value* place = place_in_frame(call, end);
    return {call->getArgOperand(0), call->getArgOperand(1), call->getArgOperand(2),
            place != nullptr ? address_at(builder, place) : nullptr};
}

// Notes that are looked at together: of values, or of words in the frame that are all
// still there.
bool can_join(llvm::ArrayRef<llvm::CallInst*> run, const llvm::CallInst* next) {
    if (place_in_frame(run.front(), run.front()) == nullptr) {
        return place_in_frame(next, next) == nullptr;
    }
    return place_in_frame(next, next) != nullptr &&
           llvm::all_of(run, [&](const llvm::CallInst* note) {
               return place_in_frame(note, next) != nullptr;
           });
}

std::vector<Group> runs_of(const Group& group) {
    std::vector<Group> runs;
    for (llvm::CallInst* note : group) {
        if (runs.empty() || !can_join(runs.back(), note)) {
            runs.emplace_back();
        }
        runs.back().push_back(note);
    }
    return runs;
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

void Expander::stamp(const NotesOfFunction& notes, llvm::AllocaInst* context) const {
    for (const Group& group : notes.in_line) {
        for (const Group& run : runs_of(group)) {
            stamp_together(run, context);
        }
    }
    for (llvm::CallInst* call : notes.left) {
        llvm::IRBuilder<> builder(call);
        code_.write_call(builder, note_of(builder, call, call), context);
        call->eraseFromParent();
    }
}

// True when a later note writes over the stamp of an earlier one.
bool replaces(const Note& later, const Note& earlier) {
    return value_of(later.old) == value_of(earlier.old) &&
           llvm::isa<llvm::Constant>(later.given);
}

// All notes of a run are looked at where the last one stands.
void Expander::stamp_together(const Group& run, llvm::AllocaInst* context) const {
    llvm::IRBuilder<> builder(run.back());
    llvm::SmallVector<Note> notes;
    for (llvm::CallInst* call : run) {
        Note note = note_of(builder, call, run.back());
        llvm::erase_if(notes,
                       [&](const Note& earlier) { return replaces(note, earlier); });
        notes.push_back(note);
    }
    code_.write_in_line(builder, notes, context);
    llvm::for_each(run, [](llvm::CallInst* call) { call->eraseFromParent(); });
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
        if (is_note(instruction, lost)) {
            group.push_back(llvm::cast<llvm::CallInst>(&instruction));
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
        if (is_note(instruction, lost)) {
            left.push_back(llvm::cast<llvm::CallInst>(&instruction));
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

void expand_stamps(llvm::Module& module, SiteTable& sites,
                   llvm::FunctionAnalysisManager& analyses) {
    llvm::GlobalVariable* table = sites.write();
    place_outside_notes(module);
    join_copies(module);
    analyses.clear();
    Marks marks = {module.getFunction(lost_name), module.getFunction(lost_from_name),
                   module.getFunction(born_name)};
    for (llvm::Function* mark : present(marks)) {
        erase_needless(mark);
    }
    if (present(marks).empty()) {
        return;
    }
    Notes notes = find_notes(module, marks, analyses);
    Contexts contexts(module);
    Expander expander(module, table);
    for (auto& [function, own] : notes) {
        expander.expand(own, contexts.context(*function));
    }
    for (llvm::Function* mark : present(marks)) {
        mark->eraseFromParent();
    }
}

} // namespace leakline
