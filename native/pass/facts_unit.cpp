#include "facts_unit.h"

#include "facts_assignment.h"
#include "facts_constant.h"
#include "facts_function.h"
#include "facts_member.h"
#include "facts_only_read.h"
#include "facts_op.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace leakline {

static std::string path_of(const DIFile* file) {
    if (!file) {
        return "";
    }
    SmallString<256> path(file->getFilename());
    if (!sys::path::is_absolute(path)) {
        path = file->getDirectory();
        sys::path::append(path, file->getFilename());
    }
    sys::path::remove_dots(path, true);
    return json::fixUTF8(path);
}

static const DICompileUnit* compile_unit(const Module& module) {
    auto units = module.debug_compile_units();
    return units.begin() == units.end() ? nullptr : *units.begin();
}

FileTable::FileTable(const Module& module) {
    const DICompileUnit* unit = compile_unit(module);
    std::string path = unit ? path_of(unit->getFile()) : module.getSourceFileName();
    indices_[path] = 0;
    paths_.push_back(path);
}

int FileTable::index(const DIFile* file) {
    std::string path = path_of(file);
    auto [place, is_new] = indices_.try_emplace(path, static_cast<int>(paths_.size()));
    if (is_new) {
        paths_.push_back(path);
    }
    return place->second;
}

void FileTable::write(json::OStream& out) const {
    out.array([&] {
        for (const std::string& path : paths_) {
            out.value(path);
        }
    });
}

// `annotate("leakline.release=name,n")` stands for GCC's malloc(name, n), which clang
// does not know; the annotation counts arguments from 1 as GCC does.
static void note_release(UnitContext& unit, const ConstantStruct& annotation) {
    const auto* function =
        dyn_cast<Function>(annotation.getOperand(0)->stripPointerCasts());
    const auto* holder =
        dyn_cast<GlobalVariable>(annotation.getOperand(1)->stripPointerCasts());
    if (!function || !holder || !holder->hasInitializer()) {
        return;
    }
    const auto* data = dyn_cast<ConstantDataSequential>(holder->getInitializer());
    StringRef text = data && data->isCString() ? data->getAsCString() : "";
    unsigned argument = 1;
    if (text.consume_front("leakline.release=")) {
        auto [name, position] = text.split(',');
        if (position.trim().getAsInteger(10, argument) || argument == 0) {
            argument = 1;
        }
        unit.releases[function].push_back({name.trim().str(), argument - 1});
    }
}

UnitContext::UnitContext(const Module& unit_module)
    : module(unit_module), layout(unit_module.getDataLayout()), types(unit_module),
      files(unit_module) {
    const GlobalVariable* annotations =
        module.getNamedGlobal("llvm.global.annotations");
    if (!annotations || !annotations->hasInitializer()) {
        return;
    }
    for (const Use& entry : annotations->getInitializer()->operands()) {
        if (const auto* annotation = dyn_cast<ConstantStruct>(entry)) {
            note_release(*this, *annotation);
        }
    }
}

StringRef linkage_word(const GlobalValue& value) {
    if (value.hasLocalLinkage()) {
        return "internal";
    }
    if (value.hasAvailableExternallyLinkage()) {
        return "available";
    }
    if (value.hasLinkOnceLinkage() || value.hasWeakODRLinkage()) {
        return "once";
    }
    if (value.hasCommonLinkage()) {
        return "common";
    }
    return value.hasWeakLinkage() || value.hasExternalWeakLinkage() ? "weak"
                                                                    : "external";
}

static void write_attributes(json::OStream& out, const Function& function) {
    const std::pair<StringRef, bool> attributes[] = {
        {"noreturn", function.doesNotReturn()},
        {"malloc", function.returnDoesNotAlias()},
        {"returns_nonnull", function.hasRetAttribute(Attribute::NonNull)},
        {"returns_twice", function.hasFnAttribute(Attribute::ReturnsTwice)},
        {"nothrow", function.doesNotThrow()},
        {"cold", function.hasFnAttribute(Attribute::Cold)},
        {"naked", function.hasFnAttribute(Attribute::Naked)},
        {"always_inline", function.hasFnAttribute(Attribute::AlwaysInline)},
        {"const", function.doesNotAccessMemory()},
        {"pure", function.onlyReadsMemory() && !function.doesNotAccessMemory()},
    };
    out.attributeArray("attributes", [&] {
        for (const auto& [name, is_set] : attributes) {
            if (is_set) {
                out.value(name);
            }
        }
    });
}

static int parameter_flags(const Argument& argument) {
    int flags = 0;
    flags |= argument.hasAttribute(Attribute::NonNull) ? kNonNullParameter : 0;
    flags |= argument.hasByValAttr() ? kByValParameter : 0;
    flags |= argument.hasStructRetAttr() ? kSretParameter : 0;
    flags |= argument.hasNoCaptureAttr() ? kNoEscape : 0;
    flags |= argument.onlyReadsMemory() ? kReadOnly : 0;
    return flags;
}

// The source type of a parameter. IR parameters differ in number from the source's
// where a structure is passed in registers; then positions say nothing.
static const DIType* parameter_type(const Function& function, unsigned position) {
    const DISubprogram* subprogram = function.getSubprogram();
    const DISubroutineType* type = subprogram ? subprogram->getType() : nullptr;
    unsigned hidden = function.hasStructRetAttr() ? 1 : 0;
    if (!type || position < hidden ||
        type->getTypeArray().size() != function.arg_size() - hidden + 1) {
        return nullptr;
    }
    return type->getTypeArray()[position - hidden + 1];
}

static void write_parameters(json::OStream& out, UnitContext& unit,
                             const Function& function) {
    for (const Argument& argument : function.args()) {
        out.array([&] {
            out.value(argument.getName());
            write_ty(out, unit.layout, argument.getType());
            out.value(unit.types.index(parameter_type(function, argument.getArgNo())));
            out.value(parameter_flags(argument));
        });
    }
}

static std::string display_name(const Function& function) {
    const DISubprogram* subprogram = function.getSubprogram();
    StringRef name = function.getName();
    bool is_mangled = name.starts_with("_Z");
    if (subprogram && !is_mangled) {
        return subprogram->getName().str();
    }
    return is_mangled ? demangle(name) : name.str();
}

void write_interface(json::OStream& out, UnitContext& unit, const Function& function) {
    out.attribute("name", function.getName());
    out.attribute("display", display_name(function));
    out.attribute("signature", signature_of(unit.layout, *function.getFunctionType()));
    out.attribute("variadic", function.isVarArg());
    out.attributeBegin("returns");
    write_ty(out, unit.layout, function.getReturnType());
    out.attributeEnd();
    out.attributeArray("parameters", [&] { write_parameters(out, unit, function); });
    write_attributes(out, function);
    out.attributeArray("releases", [&] {
        for (const Release& release : unit.releases.lookup(&function)) {
            out.array([&] {
                out.value(release.function);
                out.value(release.argument);
            });
        }
    });
}

static void write_global(json::OStream& out, UnitContext& unit,
                         const GlobalVariable& global) {
    SmallVector<DIGlobalVariableExpression*, 1> expressions;
    global.getDebugInfo(expressions);
    const DIGlobalVariable* source =
        expressions.empty() ? nullptr : expressions.front()->getVariable();
    Initialised initialised;
    out.attribute("name", global.getName());
    out.attribute("display", source ? source->getName() : global.getName());
    out.attribute("linkage", linkage_word(global));
    out.attribute("defined", !global.isDeclaration());
    out.attribute("constant", global.isConstant());
    out.attribute("only_read", is_only_read(global));
    out.attribute("thread_local", global.isThreadLocal());
    out.attribute("bytes", bytes_of(unit.layout, global.getValueType()));
    out.attribute("type", source ? unit.types.index(source->getType()) : -1);
    out.attribute("file", source ? unit.files.index(source->getFile()) : 0);
    out.attribute("line", source ? static_cast<int>(source->getLine()) : 0);
    out.attributeBegin("initialiser");
    if (global.hasInitializer()) {
        initialised = write_initialiser(out, unit.layout, *global.getInitializer());
    } else {
        out.array([] {});
    }
    out.attributeEnd();
    out.attribute("truncated", initialised.truncated);
    out.attributeArray("member_stores", [&] {
        for (const CodeAddress& address : initialised.addresses) {
            auto offset = static_cast<uint64_t>(address.offset_bytes);
            std::string member = code_member_of_global(global, offset);
            if (!member.empty()) {
                out.array([&] {
                    out.value(member);
                    out.value(address.function->getName());
                });
            }
        }
    });
}

static void write_globals(json::OStream& out, UnitContext& unit) {
    for (const GlobalVariable& global : unit.module.globals()) {
        if (!global.getName().starts_with("llvm.")) {
            out.object([&] { write_global(out, unit, global); });
        }
    }
}

static void write_declarations(json::OStream& out, UnitContext& unit) {
    for (const Function& function : unit.module) {
        if (function.isDeclaration() && !function.isIntrinsic() &&
            !function.use_empty()) {
            out.object([&] { write_interface(out, unit, function); });
        }
    }
}

static void write_aliases(json::OStream& out, const Module& module) {
    for (const GlobalAlias& alias : module.aliases()) {
        const auto* target = alias.getAliaseeObject();
        if (!target) {
            continue;
        }
        out.array([&] {
            out.value(alias.getName());
            out.value(target->getName());
            out.value(linkage_word(alias));
        });
    }
}

static void write_run_at(json::OStream& out, const Module& module, StringRef list) {
    const GlobalVariable* global = module.getNamedGlobal(list);
    if (!global || !global->hasInitializer()) {
        return;
    }
    for (const Use& entry : global->getInitializer()->operands()) {
        const auto* fields = dyn_cast<ConstantStruct>(entry);
        const auto* function =
            fields ? dyn_cast<Function>(fields->getOperand(1)->stripPointerCasts())
                   : nullptr;
        if (function) {
            out.value(function->getName());
        }
    }
}

static StringRef language_of(const Module& module) {
    const DICompileUnit* unit = compile_unit(module);
    if (unit && dwarf::isCPlusPlus(
                    static_cast<dwarf::SourceLanguage>(unit->getSourceLanguage()))) {
        return "c++";
    }
    return "c";
}

static void write_unit_line(raw_ostream& stream, UnitContext& unit) {
    const DICompileUnit* source = compile_unit(unit.module);
    json::OStream out(stream);
    out.object([&] {
        out.attribute("format", "leakline-facts");
        out.attribute("version", 2);
        out.attribute("llvm", LLVM_VERSION_STRING);
        out.attribute("source", json::fixUTF8(unit.module.getSourceFileName()));
        out.attribute("directory",
                      source ? json::fixUTF8(source->getDirectory()) : std::string());
        out.attribute("language", language_of(unit.module));
        out.attribute("target", unit.module.getTargetTriple());
        out.attribute("pointer_bytes", unit.layout.getPointerSize());
        out.attributeArray("globals", [&] { write_globals(out, unit); });
        out.attributeArray("declarations", [&] { write_declarations(out, unit); });
        out.attributeArray("aliases", [&] { write_aliases(out, unit.module); });
        out.attributeArray("constructors", [&] {
            write_run_at(out, unit.module, "llvm.global_ctors");
        });
        out.attributeArray("destructors", [&] {
            write_run_at(out, unit.module, "llvm.global_dtors");
        });
        // Last, because everything before may add files and types.
        out.attributeBegin("files");
        unit.files.write(out);
        out.attributeEnd();
        out.attributeBegin("types");
        unit.types.write(out);
        out.attributeEnd();
    });
    out.flush();
    stream << '\n';
}

void write_unit(raw_ostream& stream, Module& module,
                FunctionAnalysisManager& analyses) {
    UnitContext unit(module);
    std::string functions;
    raw_string_ostream function_stream(functions);
    int count = 0;
    for (Function& function : module) {
        if (!function.isDeclaration()) {
            removeUnreachableBlocks(function);
            mark_assignments(function);
            analyses.invalidate(function, PreservedAnalyses::none());
            SROAPass(SROAOptions::PreserveCFG).run(function, analyses);
            write_function(function_stream, unit, function);
            ++count;
        }
    }
    write_unit_line(stream, unit);
    stream << functions << "{\"end\": " << count << "}\n";
}

} // namespace leakline
