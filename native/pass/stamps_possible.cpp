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

// What a function hands on of one of its parameters.
enum class Part {
    whole,   // what it was given
    address, // the address of a member of that
    member,  // what such a member holds
};

struct Handed {
    Part part;
    int64_t offset; // of the member
    const llvm::CallBase* call;
    unsigned argument;
};

namespace {

// Stands for all members of an object.
constexpr int64_t any_member = -1;
// Of a function that frees more members, all are asked about.
constexpr unsigned most_members = 8;

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

int64_t sum_of(int64_t offset, int64_t more) {
    return offset == any_member || more == any_member ? any_member : offset + more;
}

int64_t offset_of(const llvm::GetElementPtrInst& step) {
    llvm::APInt offset(64, 0);
    bool is_known =
        step.accumulateConstantOffset(step.getModule()->getDataLayout(), offset);
    return is_known && !offset.isNegative() ? offset.getSExtValue() : any_member;
}

// Follows a parameter through variables, whatever else these hold at other times.
class HandedOn {
  public:
    explicit HandedOn(const llvm::Argument& argument) {
        follow(&argument, Part::whole, 0);
    }

    std::vector<Handed> take() {
        return std::move(found_);
    }

  private:
    void follow(const llvm::Value* value, Part part, int64_t offset) {
        if (!seen_.insert({value, {static_cast<int>(part), offset}}).second) {
            return;
        }
        for (const llvm::Use& use : value->uses()) {
            follow_use(use, part, offset);
        }
    }

    void follow_use(const llvm::Use& use, Part part, int64_t offset) {
        const llvm::User* user = use.getUser();
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(user)) {
            if (call->isArgOperand(&use)) {
                found_.push_back({part, offset, call, call->getArgOperandNo(&use)});
            }
        } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
            follow_stored(*store, use, part, offset);
        } else if (llvm::isa<llvm::LoadInst>(user)) {
            if (part != Part::member) {
                follow(user, Part::member, offset);
            }
        } else if (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
            if (part == Part::member) {
                follow(user, part, offset);
            } else {
                follow(user, Part::address, sum_of(offset, offset_of(*step)));
            }
        } else if (llvm::isa<llvm::CastInst, llvm::PHINode, llvm::SelectInst>(user)) {
            follow(user, part, offset_in_loop(part, offset));
        }
    }

    // An address that is handed round may be stepped on in a loop.
    static int64_t offset_in_loop(Part part, int64_t offset) {
        return part == Part::address ? any_member : offset;
    }

    void follow_stored(const llvm::StoreInst& store, const llvm::Use& use, Part part,
                       int64_t offset) {
        auto* variable = llvm::dyn_cast<llvm::AllocaInst>(store.getPointerOperand());
        if (variable == nullptr || use.getOperandNo() != 0) {
            return;
        }
        for (const llvm::User* user : variable->users()) {
            if (llvm::isa<llvm::LoadInst>(user)) {
                follow(user, part, offset_in_loop(part, offset));
            }
        }
    }

    llvm::DenseSet<std::pair<const llvm::Value*, std::pair<int, int64_t>>> seen_;
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
            Parameter parameter(argument->getParent(), argument->getArgNo());
            for (const Handed& handed : all) {
                changed |= add(parameter, handed);
            }
        }
    }
}

bool PossibleFreeing::add(Parameter parameter, const Handed& handed) {
    const auto& [part, offset, call, number] = handed;
    if (part != Part::address && freeing_.frees(*call, number)) {
        by_themselves_.insert(parameter.first);
    }
    bool is_new = false;
    if (part == Part::member) {
        return may_directly(*call, number) && add_member(parameter, offset);
    }
    if (part == Part::whole && may_directly(*call, number)) {
        is_new |= direct_.insert(parameter).second;
    }
    for (int64_t member : members_of(*call, number)) {
        is_new |= add_member(parameter, sum_of(offset, member));
    }
    return is_new;
}

bool PossibleFreeing::add_member(Parameter parameter, int64_t offset) {
    Members& known = of_members_[parameter];
    bool is_any = known.size() >= most_members;
    return !known.contains(any_member) &&
           known.insert(is_any ? any_member : offset).second;
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

bool PossibleFreeing::may_directly(const llvm::CallBase& call,
                                   unsigned argument) const {
    return freeing_.frees(call, argument) || is_called_release(call) ||
           direct_.contains(Parameter(callee_of(call), argument));
}

PossibleFreeing::Members PossibleFreeing::members_of(const llvm::CallBase& call,
                                                     unsigned argument) const {
    Members members = of_members_.lookup(Parameter(callee_of(call), argument));
    if (is_called_release(call)) {
        members.insert(any_member);
    }
    return members;
}

bool PossibleFreeing::may_free_member(const llvm::CallBase& call, unsigned argument,
                                      int64_t offset) const {
    if (!is_asked_about(call)) {
        return false;
    }
    Members members = members_of(call, argument);
    return members.contains(any_member) || members.contains(offset);
}

} // namespace leakline
