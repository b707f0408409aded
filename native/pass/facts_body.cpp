#include "facts_body.h"

#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace leakline {

bool is_marker(const Instruction& instruction) {
    const auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction);
    if (!intrinsic) {
        return false;
    }
    switch (intrinsic->getIntrinsicID()) {
    case Intrinsic::lifetime_start:
    case Intrinsic::lifetime_end:
    case Intrinsic::invariant_start:
    case Intrinsic::invariant_end:
    case Intrinsic::stacksave:
    case Intrinsic::stackrestore:
    case Intrinsic::var_annotation:
    case Intrinsic::donothing:
    case Intrinsic::sideeffect:
    case Intrinsic::prefetch:
    case Intrinsic::pseudoprobe:
    case Intrinsic::experimental_noalias_scope_decl:
        return true;
    default:
        return isa<DbgInfoIntrinsic>(intrinsic);
    }
}

BodyNumbers::BodyNumbers(UnitContext& unit, Function& function)
    : unit_(unit), subprogram_(function.getSubprogram()) {
    for (const Argument& argument : function.args()) {
        values_[&argument] = value_count_++;
    }
    int block_count = 0;
    for (const BasicBlock& block : function) {
        blocks_[&block] = block_count++;
        for (const Instruction& instruction : block) {
            if (!instruction.getType()->isVoidTy() && !is_marker(instruction)) {
                values_[&instruction] = value_count_++;
            }
        }
    }
}

int BodyNumbers::value(const Value* value) {
    if (auto known = values_.find(value); known != values_.end()) {
        return known->second;
    }
    const auto* constant = dyn_cast<Constant>(value);
    if (!constant) {
        constant = UndefValue::get(Type::getInt8Ty(value->getContext()));
    }
    int next = -static_cast<int>(constants_.size()) - 1;
    return constants_.try_emplace(constant, next).first->second;
}

int BodyNumbers::result(const Instruction& instruction) const {
    auto known = values_.find(&instruction);
    return known == values_.end() ? -1 : known->second;
}

int BodyNumbers::location(const DILocation* location) {
    if (!location || location->getLine() == 0) {
        return 0;
    }
    auto [place, is_new] =
        location_indices_.try_emplace(location, static_cast<int>(locations_.size()));
    if (is_new) {
        int line = static_cast<int>(location->getLine());
        int column = static_cast<int>(location->getColumn());
        if (subprogram_ && location->getFile() == subprogram_->getFile()) {
            line -= static_cast<int>(subprogram_->getLine());
            locations_.push_back({-1, line, column});
        } else {
            locations_.push_back(
                {unit_.files.index(location->getFile()), line, column});
        }
    }
    return place->second;
}

int BodyNumbers::variable(const DILocalVariable& variable,
                          std::optional<DIExpression::FragmentInfo> part) {
    uint64_t key = part ? part->OffsetInBits + 1 : 0;
    auto [place, is_new] = variable_indices_.try_emplace(
        {&variable, key}, static_cast<int>(variables_.size()));
    if (is_new) {
        std::string name = variable.getName().str();
        const DIType* type = variable.getType();
        if (part) {
            const DIDerivedType* member =
                TypeTable::member_at(type, part->OffsetInBits);
            name += member ? "." + member->getName().str() : std::string();
            type = member ? member->getBaseType() : nullptr;
        }
        int origin = subprogram_ ? static_cast<int>(subprogram_->getLine()) : 0;
        variables_.push_back({name, unit_.types.index(type),
                              static_cast<int>(variable.getArg()) - 1,
                              static_cast<int>(variable.getLine()) - origin});
    }
    return place->second;
}

void BodyNumbers::write_constants(json::OStream& out) {
    out.array([&] {
        for (const auto& [constant, number] : constants_) {
            write_constant(out, unit_.layout, *constant, mentioned);
        }
    });
}

void BodyNumbers::write_locations(json::OStream& out) const {
    out.array([&] {
        for (const Place& place : locations_) {
            out.array([&] {
                out.value(place.file);
                out.value(place.line);
                out.value(place.column);
            });
        }
    });
}

void BodyNumbers::write_variables(json::OStream& out) const {
    out.array([&] {
        for (const Local& local : variables_) {
            out.array([&] {
                out.value(local.name);
                out.value(local.type);
                out.value(local.parameter);
                out.value(local.line);
            });
        }
    });
}

} // namespace leakline
