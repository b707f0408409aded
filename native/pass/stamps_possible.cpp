#include "stamps_possible.h"

#include "stamps_callees.h"
#include "stamps_names.h"
#include "stamps_wording.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IntrinsicInst.h"

#include <string>
#include <vector>

namespace leakline {

namespace {

// Objects of the C++ library, and those that are destroyed, are looked at otherwise.
bool is_looked_into(const llvm::Function& function) {
    llvm::StringRef name = function.getName();
    return !function.isIntrinsic() && !is_destructor(name) &&
           !name.starts_with("_ZNSt") && !name.starts_with("_ZNK") &&
           !name.starts_with("_ZSt");
}

// The name of what a function is called through: `xFree` of `hooks->xFree(p)`.
std::string name_of_pointer(const llvm::CallBase& call) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(call.getCalledOperand());
    if (load == nullptr) {
        return {};
    }
    std::string name = name_of_slot(load->getOperand(0));
    return name.substr(name.find_last_of(".>") + 1);
}

// True where nothing but a name tells what a call does: that of the function, or, when
// only the run knows which one it is, of the function that calls it.
bool is_called_release(const llvm::CallBase& call) {
    const llvm::Function* callee = callee_of(call);
    if (callee == nullptr) {
        return !call.isInlineAsm() && (says_release(call.getFunction()->getName()) ||
                                       says_release(name_of_pointer(call)));
    }
    return callee->isDeclaration() && is_looked_into(*callee) &&
           says_release(callee->getName());
}

// What a function hands on of one of its parameters.
enum class Part {
    whole,   // what it was given
    address, // the address of a member of that
    member,  // what such a member holds
};

struct Handed {
    Part part;
    const llvm::CallBase* call;
    unsigned argument;
};

// Follows a parameter through variables, whatever else these hold at other times.
class HandedOn {
  public:
    explicit HandedOn(const llvm::Argument& argument) {
        follow(&argument, Part::whole);
    }

    std::vector<Handed> take() {
        return std::move(found_);
    }

  private:
    void follow(const llvm::Value* value, Part part) {
        if (!seen_[static_cast<unsigned>(part)].insert(value).second) {
            return;
        }
        for (const llvm::Use& use : value->uses()) {
            follow_use(use, part);
        }
    }

    void follow_use(const llvm::Use& use, Part part) {
        const llvm::User* user = use.getUser();
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(user)) {
            if (call->isArgOperand(&use)) {
                found_.push_back({part, call, call->getArgOperandNo(&use)});
            }
        } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
            follow_stored(*store, use, part);
        } else if (llvm::isa<llvm::LoadInst>(user)) {
            if (part != Part::member) {
                follow(user, Part::member);
            }
        } else if (llvm::isa<llvm::GetElementPtrInst>(user)) {
            follow(user, part == Part::whole ? Part::address : part);
        } else if (llvm::isa<llvm::CastInst, llvm::PHINode, llvm::SelectInst>(user)) {
            follow(user, part);
        }
    }

    void follow_stored(const llvm::StoreInst& store, const llvm::Use& use, Part part) {
        auto* variable = llvm::dyn_cast<llvm::AllocaInst>(store.getPointerOperand());
        if (variable == nullptr || use.getOperandNo() != 0) {
            return;
        }
        for (const llvm::User* user : variable->users()) {
            if (llvm::isa<llvm::LoadInst>(user)) {
                follow(user, part);
            }
        }
    }

    llvm::SmallPtrSet<const llvm::Value*, 16> seen_[3]; // by the part
    std::vector<Handed> found_;
};

} // namespace

PossibleFreeing::PossibleFreeing(llvm::Module& module, const Freeing& freeing)
    : freeing_(freeing) {
    std::vector<std::pair<const llvm::Argument*, std::vector<Handed>>> parameters;
    for (const llvm::Function& function : module) {
        for (const llvm::Argument& argument : function.args()) {
            if (!function.isDeclaration() && is_looked_into(function) &&
                argument.getType()->isPointerTy()) {
                parameters.emplace_back(&argument, HandedOn(argument).take());
            }
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (const auto& [argument, all] : parameters) {
            std::pair key(argument->getParent(), argument->getArgNo());
            for (const Handed& handed : all) {
                const auto& [part, call, number] = handed;
                if (part != Part::address && may(direct_, *call, number)) {
                    changed |= (part == Part::whole ? direct_ : of_members_)
                                   .insert(key)
                                   .second;
                }
                if (part != Part::member && may(of_members_, *call, number)) {
                    changed |= of_members_.insert(key).second;
                }
                if (part != Part::address && freeing.frees(*call, number)) {
                    by_themselves_.insert(key.first);
                }
            }
        }
    }
}

// To ask takes a few nanoseconds, so not every function is asked about that may call
// another one which frees.
bool PossibleFreeing::is_asked_about(const llvm::CallBase& call) const {
    const llvm::Function* callee = callee_of(call);
    if (callee == nullptr) {
        return says_release(name_of_pointer(call));
    }
    return says_release(callee->getName()) || by_themselves_.contains(callee);
}

bool PossibleFreeing::may(const Parameters& known, const llvm::CallBase& call,
                          unsigned argument) const {
    return freeing_.frees(call, argument) || is_called_release(call) ||
           known.contains(std::pair(callee_of(call), argument));
}

} // namespace leakline
