#include "facts_types.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace leakline {

int64_t bytes_of(const DataLayout& layout, Type* type) {
    if (!type->isSized() || type->isScalableTy()) {
        return 0;
    }
    return static_cast<int64_t>(layout.getTypeAllocSize(type).getFixedValue());
}

void write_ty(json::OStream& out, const DataLayout& layout, Type* type) {
    if (type->isVoidTy() || type->isMetadataTy() || type->isLabelTy()) {
        out.value(nullptr);
    } else if (type->isPointerTy()) {
        out.value(0);
    } else if (type->isIntegerTy()) {
        out.value(type->getIntegerBitWidth());
    } else {
        out.value(-std::max<int64_t>(1, bytes_of(layout, type)));
    }
}

static std::string signature_letter(const DataLayout& layout, Type* type) {
    if (type->isVoidTy()) {
        return "v";
    }
    if (type->isPointerTy()) {
        return "p";
    }
    if (type->isIntegerTy()) {
        return "i" + std::to_string(type->getIntegerBitWidth());
    }
    if (type->isFloatingPointTy()) {
        return "f" + std::to_string(type->getPrimitiveSizeInBits().getFixedValue());
    }
    return "a" + std::to_string(bytes_of(layout, type));
}

std::string signature_of(const DataLayout& layout, const FunctionType& type) {
    std::string text = signature_letter(layout, type.getReturnType()) + "(";
    const char* separator = "";
    for (Type* parameter : type.params()) {
        text += separator + signature_letter(layout, parameter);
        separator = ",";
    }
    if (type.isVarArg()) {
        text += std::string(separator) + "...";
    }
    return text + ")";
}

static bool is_transparent(const DIType& type) {
    switch (type.getTag()) {
    case dwarf::DW_TAG_typedef:
    case dwarf::DW_TAG_const_type:
    case dwarf::DW_TAG_volatile_type:
    case dwarf::DW_TAG_restrict_type:
    case dwarf::DW_TAG_atomic_type:
        return true;
    default:
        return false;
    }
}

const DIType* TypeTable::resolved(const DIType* type) {
    while (type && is_transparent(*type)) {
        type = cast<DIDerivedType>(type)->getBaseType();
    }
    return type;
}

// The name people use for a type: its own, or that of the nearest typedef.
static StringRef name_of(const DIType* type) {
    StringRef typedef_name;
    while (type && is_transparent(*type)) {
        if (type->getTag() == dwarf::DW_TAG_typedef) {
            typedef_name = type->getName();
        }
        type = cast<DIDerivedType>(type)->getBaseType();
    }
    return !type || type->getName().empty() ? typedef_name : type->getName();
}

std::string TypeTable::struct_key(const DIType* type) {
    StringRef name = name_of(type);
    const DIType* plain = resolved(type);
    if (name.empty() || !plain) {
        return "";
    }
    return (name + "/" + Twine(plain->getSizeInBits() / 8)).str();
}

TypeTable::TypeTable(const Module& module) {
    DebugInfoFinder finder;
    finder.processModule(module);
    for (const DIType* type : finder.types()) {
        const auto* composite = dyn_cast_or_null<DICompositeType>(resolved(type));
        StringRef name = type->getName();
        if (composite && !composite->isForwardDecl() && !name.empty()) {
            structs_by_name_[name].push_back(type);
        }
    }
}

int TypeTable::index(const DIType* type) {
    StringRef name = name_of(type);
    type = resolved(type);
    if (!type) {
        return -1;
    }
    auto [place, is_new] =
        indices_.try_emplace(type, static_cast<int>(entries_.size()));
    int number = place->second;
    if (is_new) {
        // The number is taken before the members are visited: types refer to
        // themselves.
        entries_.emplace_back();
        std::string entry = encode(*type, name);
        entries_[static_cast<size_t>(number)] = std::move(entry);
    }
    return number;
}

// The name in the source of "struct.node.12", the thirteenth node the compiler met.
static StringRef source_name(const StructType& type) {
    StringRef name = type.getName().split('.').second;
    StringRef suffix = name.rsplit('.').second;
    if (!suffix.empty() && suffix.find_first_not_of("0123456789") == StringRef::npos) {
        name = name.rsplit('.').first;
    }
    size_t scope = name.rfind("::");
    return scope == StringRef::npos ? name : name.substr(scope + 2);
}

const DIType* TypeTable::type_of_struct(const DataLayout& layout,
                                        const StructType& type) {
    if (!type.hasName()) {
        return nullptr;
    }
    auto [place, is_new] = struct_types_.try_emplace(&type, nullptr);
    if (is_new) {
        auto bits =
            static_cast<uint64_t>(bytes_of(layout, const_cast<StructType*>(&type))) * 8;
        for (const DIType* candidate : structs_by_name_.lookup(source_name(type))) {
            if (resolved(candidate)->getSizeInBits() == bits) {
                place->second = candidate;
                break;
            }
        }
    }
    return place->second;
}

int TypeTable::index_of_struct(const DataLayout& layout, const StructType& type) {
    return index(type_of_struct(layout, type));
}

const DIDerivedType* TypeTable::member_at(const DIType* type, uint64_t offset_bits) {
    const auto* composite = dyn_cast_or_null<DICompositeType>(resolved(type));
    if (!composite || composite->getTag() == dwarf::DW_TAG_array_type) {
        return nullptr;
    }
    for (const DINode* element : composite->getElements()) {
        const auto* member = dyn_cast_or_null<DIDerivedType>(element);
        if (member && member->getTag() == dwarf::DW_TAG_member &&
            member->getOffsetInBits() == offset_bits) {
            return member;
        }
    }
    return nullptr;
}

static int64_t array_count(const DICompositeType& type) {
    int64_t total = 1;
    for (const DINode* element : type.getElements()) {
        const auto* range = dyn_cast_or_null<DISubrange>(element);
        auto* count =
            range ? dyn_cast_if_present<ConstantInt*>(range->getCount()) : nullptr;
        if (!count || count->getSExtValue() < 0) {
            return -1;
        }
        total *= count->getSExtValue();
    }
    return total;
}

std::string TypeTable::encode(const DIType& type, StringRef name) {
    if (const auto* composite = dyn_cast<DICompositeType>(&type)) {
        return encode_composite(*composite, name);
    }
    std::string text;
    raw_string_ostream stream(text);
    json::OStream out(stream);
    out.array([&] {
        const auto* derived = dyn_cast<DIDerivedType>(&type);
        if (isa<DIBasicType>(type)) {
            out.value("base");
            out.value(name);
            out.value(static_cast<int64_t>(type.getSizeInBits() / 8));
        } else if (isa<DISubroutineType>(type)) {
            out.value("function");
        } else if (derived && derived->getTag() != dwarf::DW_TAG_ptr_to_member_type) {
            out.value("pointer");
            out.value(index(derived->getBaseType()));
        } else {
            out.value("other");
            out.value(name);
        }
    });
    return text;
}

std::string TypeTable::encode_composite(const DICompositeType& type, StringRef name) {
    std::string text;
    raw_string_ostream stream(text);
    json::OStream out(stream);
    int64_t bytes =
        type.isForwardDecl() ? -1 : static_cast<int64_t>(type.getSizeInBits() / 8);
    out.array([&] {
        if (type.getTag() == dwarf::DW_TAG_array_type) {
            out.value("array");
            out.value(index(type.getBaseType()));
            out.value(array_count(type));
            return;
        }
        if (type.getTag() == dwarf::DW_TAG_enumeration_type) {
            out.value("enum");
            out.value(name);
            out.value(bytes);
            return;
        }
        out.value(type.getTag() == dwarf::DW_TAG_union_type ? "union" : "struct");
        out.value(name);
        out.value(bytes);
        out.array([&] {
            for (const DINode* element : type.getElements()) {
                const auto* member = dyn_cast_or_null<DIDerivedType>(element);
                if (!member || member->isStaticMember() ||
                    (member->getTag() != dwarf::DW_TAG_member &&
                     member->getTag() != dwarf::DW_TAG_inheritance)) {
                    continue;
                }
                out.array([&] {
                    out.value(member->getName());
                    out.value(static_cast<int64_t>(member->getOffsetInBits()));
                    out.value(index(member->getBaseType()));
                });
            }
        });
    });
    return text;
}

void TypeTable::write(json::OStream& out) const {
    out.array([&] {
        for (const std::string& entry : entries_) {
            out.rawValue(entry);
        }
    });
}

} // namespace leakline
