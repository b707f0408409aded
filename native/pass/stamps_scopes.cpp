#include "stamps_scopes.h"

#include "stamps_debug.h"
#include "stamps_names.h"
#include "stamps_slots.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

namespace leakline {

namespace {

using Scope = const llvm::DILocalScope*;
using Scopes = llvm::SmallVector<Scope, 4>;

Scope scope_of(const llvm::DILocation* where) {
    return llvm::cast<llvm::DILocalScope>(where->getScope())
        ->getNonLexicalBlockFileScope();
}

// The scope around one; null around a function's.
Scope outer(Scope scope) {
    auto* block = llvm::dyn_cast<llvm::DILexicalBlockBase>(scope);
    return block != nullptr ? block->getScope()->getNonLexicalBlockFileScope()
                            : nullptr;
}

bool is_within(Scope inner, Scope scope) {
    for (; inner != nullptr; inner = outer(inner)) {
        if (inner == scope) {
            return true;
        }
    }
    return false;
}

// True when only code inside its scope reads or writes the variable.
bool is_used_inside(const llvm::AllocaInst* place, Scope scope) {
    return llvm::all_of(place->users(), [&](const llvm::User* user) {
        llvm::DebugLoc where = llvm::cast<llvm::Instruction>(user)->getDebugLoc();
        return where && where.getInlinedAt() == nullptr &&
               is_within(scope_of(where.get()), scope);
    });
}

// Where the label stands that a block begins with: what it labels may be a scope.
Scope label_scope(llvm::BasicBlock& block) {
    for (llvm::Instruction& instruction : block) {
        if (llvm::DILabel* label = label_at(instruction)) {
            return llvm::cast<llvm::DILocalScope>(label->getScope())
                ->getNonLexicalBlockFileScope();
        }
        if (!llvm::isa<llvm::PHINode>(instruction)) {
            return nullptr;
        }
    }
    return nullptr;
}

class Marker {
  public:
    explicit Marker(llvm::Function& function) : function_(function) {
        for (const Slot& slot : find_slots(function).variables) {
            llvm::DILocalVariable* variable = variable_of(slot.place);
            if (variable == nullptr || !slot.starts.empty() || !slot.ends.empty()) {
                continue;
            }
            Scope scope = variable->getScope()->getNonLexicalBlockFileScope();
            if (outer(scope) != nullptr && is_used_inside(slot.place, scope)) {
                declared_[scope].push_back(slot.place);
            }
        }
    }

    std::vector<llvm::Instruction*> mark();

  private:
    void mark_block(llvm::BasicBlock* block);
    void mark_exit(llvm::BasicBlock* block);
    Scopes scopes_behind(llvm::BasicBlock* block);
    static Scopes left_by(Scope from, const Scopes& next);
    void end_all(Scope scope, llvm::Instruction* before, llvm::DebugLoc where);

    llvm::Function& function_;
    llvm::DenseMap<Scope, llvm::SmallVector<llvm::AllocaInst*>> declared_;
    // Of blocks whose first instruction with a place lies in it, and of their ends.
    llvm::DenseMap<llvm::BasicBlock*, Scope> first_;
    llvm::DenseMap<llvm::BasicBlock*, llvm::Instruction*> starts_;
    llvm::DenseMap<llvm::BasicBlock*, llvm::DebugLoc> last_;
    llvm::DenseSet<std::pair<llvm::Instruction*, llvm::AllocaInst*>> ended_;
    std::vector<llvm::Instruction*> marks_;
};

std::vector<llvm::Instruction*> Marker::mark() {
    if (declared_.empty()) {
        return {};
    }
    std::vector<llvm::BasicBlock*> blocks;
    for (llvm::BasicBlock* block :
         llvm::ReversePostOrderTraversal<llvm::Function*>(&function_)) {
        blocks.push_back(block);
    }
    for (llvm::BasicBlock* block : blocks) {
        mark_block(block);
    }
    for (llvm::BasicBlock* block : blocks) {
        mark_exit(block);
    }
    return std::move(marks_);
}

// Statements that follow each other without a jump.
void Marker::mark_block(llvm::BasicBlock* block) {
    starts_[block] = &*block->getFirstInsertionPt();
    llvm::DebugLoc last;
    for (llvm::Instruction& instruction : *block) {
        llvm::DebugLoc where = instruction.getDebugLoc();
        if (!where || where.getInlinedAt() != nullptr ||
            llvm::isa<llvm::PHINode>(instruction)) {
            continue;
        }
        if (last) {
            for (Scope left : left_by(scope_of(last.get()), {scope_of(where.get())})) {
                end_all(left, &instruction, last);
            }
        } else {
            Scope label = label_scope(*block);
            first_[block] = label != nullptr ? label : scope_of(where.get());
        }
        last = where;
    }
    if (last) {
        last_[block] = last;
    }
}

// Jumps. What is left on some ways out of a block only ends where those lead to.
void Marker::mark_exit(llvm::BasicBlock* block) {
    auto last = last_.find(block);
    llvm::Instruction* exit = block->getTerminator();
    if (last == last_.end() || exit->getNumSuccessors() == 0 ||
        llvm::isa<llvm::InvokeInst, llvm::CallBrInst>(exit)) {
        return;
    }
    Scope from = scope_of(last->second.get());
    Scopes all;
    for (llvm::BasicBlock* next : llvm::successors(block)) {
        Scopes to = scopes_behind(next);
        if (to.empty()) {
            return;
        }
        all.append(to);
        if (first_.count(next) != 0) {
            for (Scope left : left_by(from, to)) {
                end_all(left, starts_[next], last->second);
            }
        }
    }
    for (Scope left : left_by(from, all)) {
        end_all(left, exit, last->second);
    }
}

// The scopes that a jump to a block may lead to: all its targets' when it is the
// computed jump that the statements of a function share. Empty when they are not known.
Scopes Marker::scopes_behind(llvm::BasicBlock* block) {
    auto known = first_.find(block);
    if (known != first_.end()) {
        return {known->second};
    }
    Scopes scopes;
    if (llvm::isa<llvm::IndirectBrInst>(block->getTerminator())) {
        for (llvm::BasicBlock* target : llvm::successors(block)) {
            auto scope = first_.find(target);
            if (scope == first_.end()) {
                return {};
            }
            scopes.push_back(scope->second);
        }
    }
    return scopes;
}

// The scopes from one outwards that hold none of those that come next.
Scopes Marker::left_by(Scope from, const Scopes& next) {
    Scopes left;
    auto is_kept = [&] {
        return llvm::any_of(next, [&](Scope to) { return is_within(to, from); });
    };
    for (; from != nullptr && !is_kept(); from = outer(from)) {
        left.push_back(from);
    }
    return left;
}

void Marker::end_all(Scope scope, llvm::Instruction* before, llvm::DebugLoc where) {
    auto found = declared_.find(scope);
    if (found == declared_.end()) {
        return;
    }
    for (llvm::AllocaInst* place : found->second) {
        if (!ended_.insert({before, place}).second) {
            continue;
        }
        llvm::IRBuilder<> builder(before);
        builder.SetCurrentDebugLocation(where);
        marks_.push_back(builder.CreateLifetimeEnd(place));
    }
}

bool has_computed_jumps(llvm::Function& function) {
    return llvm::any_of(function, [](llvm::BasicBlock& block) {
        return llvm::isa<llvm::IndirectBrInst>(block.getTerminator());
    });
}

} // namespace

std::vector<llvm::Instruction*> mark_scopes(llvm::Function& function) {
    if (function.getSubprogram() == nullptr || !has_computed_jumps(function)) {
        return {};
    }
    return Marker(function).mark();
}

} // namespace leakline
