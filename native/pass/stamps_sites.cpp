#include "stamps_sites.h"

#include "stamps_contexts.h"
#include "stamps_layout.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/Support/Path.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

namespace leakline {

namespace {

constexpr const char* section = "leakline_sites";

llvm::Type* word(llvm::Module& module) {
    return llvm::Type::getInt32Ty(module.getContext());
}

// One for each module that the linker makes, whatever number of objects it has.
llvm::GlobalVariable* shared_variable(llvm::Module& module, llvm::Constant* initial,
                                      const char* name) {
    auto* variable =
        new llvm::GlobalVariable(module, initial->getType(), false,
                                 llvm::GlobalValue::LinkOnceODRLinkage, initial, name);
    variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
    variable->setComdat(module.getOrInsertComdat(name));
    return variable;
}

// Nothing is a heap pointer until a runtime takes over.
llvm::GlobalVariable* heap_tag_variable(llvm::Module& module) {
    return shared_variable(module, llvm::ConstantInt::get(word(module), no_heap_tag),
                           heap_tag_name);
}

llvm::GlobalVariable* section_bound(llvm::Module& module, const char* prefix) {
    auto* type = llvm::Type::getInt8Ty(module.getContext());
    auto* bound =
        new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::ExternalLinkage,
                                 nullptr, llvm::Twine(prefix) + section);
    bound->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return bound;
}

// Tells the runtime where the calling thread has its `__leakline_allocating`.
llvm::Function* allocating_finder(llvm::Module& module) {
    llvm::LLVMContext& context = module.getContext();
    auto* type = llvm::FunctionType::get(llvm::PointerType::getUnqual(context), false);
    auto* finder = llvm::Function::Create(type, llvm::GlobalValue::LinkOnceODRLinkage,
                                          "__leakline_find_allocating", module);
    finder->setVisibility(llvm::GlobalValue::HiddenVisibility);
    finder->setComdat(module.getOrInsertComdat(finder->getName()));
    finder->addFnAttr(llvm::Attribute::NoUnwind);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", finder));
    builder.CreateRet(
        builder.CreateThreadLocalAddress(handed_variable(module, allocating_name)));
    return finder;
}

const llvm::DISubprogram* subprogram_of(const Site& site) {
    if (site.where) {
        return llvm::cast<llvm::DILocalScope>(site.where.getScope())->getSubprogram();
    }
    return site.function != nullptr ? site.function->getSubprogram() : nullptr;
}

std::string file_of(const Site& site, const llvm::DISubprogram* subprogram) {
    const llvm::DIScope* scope = subprogram;
    if (site.where) {
        scope = llvm::cast<llvm::DIScope>(site.where.getScope());
    }
    if (scope == nullptr) {
        return {};
    }
    llvm::StringRef name = scope->getFilename();
    if (llvm::sys::path::is_absolute(name)) {
        return name.str();
    }
    llvm::SmallString<128> path(scope->getDirectory());
    llvm::sys::path::append(path, name);
    return path.str().str();
}

llvm::StringRef function_of(const Site& site, const llvm::DISubprogram* subprogram) {
    if (subprogram == nullptr) {
        return site.function != nullptr ? site.function->getName() : "";
    }
    llvm::StringRef linkage_name = subprogram->getLinkageName();
    return linkage_name.empty() ? subprogram->getName() : linkage_name;
}

} // namespace

SiteTable::SiteTable(llvm::Module& module)
    : module_(module), type_(llvm::StructType::get(
                           module.getContext(),
                           {word(module), word(module), word(module), word(module),
                            word(module), llvm::Type::getInt16Ty(module.getContext()),
                            llvm::Type::getInt8Ty(module.getContext()),
                            llvm::Type::getInt8Ty(module.getContext()),
                            llvm::Type::getInt64Ty(module.getContext())})),
      heap_tag_(heap_tag_variable(module)) {
    write_note();
    name_units();
}

llvm::Constant* SiteTable::add(const Site& site) {
    return add(site, {});
}

llvm::Constant* SiteTable::add(const Site& site, const Births& births) {
    return add_row(site, {site.where}, births).first;
}

SiteRow SiteTable::add_row(Site site, llvm::ArrayRef<llvm::DebugLoc> places,
                           const Births& births) {
    auto* rest =
        llvm::ArrayType::get(llvm::Type::getInt8Ty(module_.getContext()),
                             births.count / descriptor_bytes * descriptor_bytes);
    auto* type = llvm::StructType::get(module_.getContext(), {type_, rest});
    auto* row_type = llvm::ArrayType::get(type, places.size());
    auto* table = new llvm::GlobalVariable(module_, row_type, true,
                                           llvm::GlobalValue::InternalLinkage, nullptr,
                                           "leakline.site");
    table->setSection(section);
    table->setAlignment(llvm::Align(descriptor_bytes));
    uint64_t step_bytes = module_.getDataLayout().getTypeAllocSize(type);
    llvm::SmallVector<llvm::Constant*> sites;
    for (llvm::DebugLoc place : places) {
        site.where = place;
        sites.push_back(llvm::ConstantStruct::get(
            type, {descriptor(site, births.lines, table, sites.size() * step_bytes),
                   llvm::ConstantAggregateZero::get(rest)}));
    }
    table->setInitializer(llvm::ConstantArray::get(row_type, sites));
    return {table, step_bytes};
}

Births SiteTable::births(llvm::ArrayRef<unsigned> lines) {
    if (lines.empty()) {
        return {};
    }
    auto* numbers = llvm::ConstantDataArray::get(module_.getContext(), lines);
    auto* list = new llvm::GlobalVariable(module_, numbers->getType(), true,
                                          llvm::GlobalValue::PrivateLinkage, numbers,
                                          "leakline.births");
    return {list, static_cast<unsigned>(lines.size())};
}

// `place` is of the row, and the descriptor lies at an offset in it.
llvm::Constant* SiteTable::descriptor(const Site& site, llvm::Constant* births,
                                      llvm::Constant* place, uint64_t offset) {
    const llvm::DISubprogram* subprogram = subprogram_of(site);
    unsigned line = site.where ? site.where.getLine()
                               : (subprogram != nullptr ? subprogram->getLine() : 0);
    unsigned column = site.where ? site.where.getCol() : 0;
    auto number = [&](unsigned field, uint64_t value) -> llvm::Constant* {
        return llvm::ConstantInt::get(type_->getElementType(field), value);
    };
    auto distance = [&](llvm::Constant* target, unsigned field) {
        return relative(target, place, offset + field * sizeof(uint32_t));
    };
    return llvm::ConstantStruct::get(
        type_,
        {distance(text(file_of(site, subprogram)), 0),
         distance(text(function_of(site, subprogram)), 1),
         distance(text(site.variable), 2), number(3, line),
         births != nullptr ? distance(births, 4) : number(4, 0), number(5, column),
         number(6, static_cast<unsigned>(site.cause)), number(7, 0), number(8, 0)});
}

// How far the target lies behind a 32-bit field at an offset of what starts at `place`.
// Needs no relocation when the module is loaded.
llvm::Constant* SiteTable::relative(llvm::Constant* target, llvm::Constant* place,
                                    uint64_t offset) {
    auto* offset_type = llvm::Type::getInt64Ty(module_.getContext());
    auto* here = llvm::ConstantExpr::getGetElementPtr(
        llvm::Type::getInt8Ty(module_.getContext()), place,
        llvm::ConstantInt::get(offset_type, offset));
    auto* distance =
        llvm::ConstantExpr::getSub(llvm::ConstantExpr::getPtrToInt(target, offset_type),
                                   llvm::ConstantExpr::getPtrToInt(here, offset_type));
    return llvm::ConstantExpr::getTrunc(distance, word(module_));
}

llvm::Constant* SiteTable::text(llvm::StringRef text) {
    llvm::Constant*& known = texts_[text];
    if (known == nullptr) {
        auto* bytes = llvm::ConstantDataArray::getString(module_.getContext(), text);
        auto* variable = new llvm::GlobalVariable(module_, bytes->getType(), true,
                                                  llvm::GlobalValue::PrivateLinkage,
                                                  bytes, "leakline.text");
        variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
        known = variable;
    }
    return known;
}

// What was instrumented, so that a report can tell what was not.
void SiteTable::name_units() {
    std::string names;
    for (const llvm::DICompileUnit* unit : module_.debug_compile_units()) {
        names += unit->getFilename();
        names += '\0';
    }
    auto* bytes =
        llvm::ConstantDataArray::getString(module_.getContext(), names, false);
    auto* units = new llvm::GlobalVariable(module_, bytes->getType(), true,
                                           llvm::GlobalValue::InternalLinkage, bytes,
                                           "leakline.units");
    units->setSection("leakline_units");
    units->setAlignment(llvm::Align(1));
    llvm::appendToUsed(module_, {units});
}

// One site that nothing refers to makes sure that the section, and so its bounds,
// exist.
void SiteTable::write_note() {
    auto* unused =
        llvm::cast<llvm::GlobalVariable>(add({{}, nullptr, {}, static_cast<Cause>(0)}));
    llvm::LLVMContext& context = module_.getContext();
    auto* name = llvm::ConstantDataArray::getString(
        context, llvm::StringRef("Leakline\0\0\0", 11));
    auto* type = llvm::StructType::get(
        context, {word(module_), word(module_), word(module_), name->getType(),
                  word(module_), word(module_), word(module_), word(module_)});
    auto* note = new llvm::GlobalVariable(module_, type, true,
                                          llvm::GlobalValue::InternalLinkage, nullptr,
                                          "leakline.note");
    auto number = [&](unsigned value) -> llvm::Constant* {
        return llvm::ConstantInt::get(word(module_), value);
    };
    const llvm::StructLayout* layout = module_.getDataLayout().getStructLayout(type);
    auto distance = [&](llvm::Constant* target, unsigned field) {
        return relative(target, note, layout->getElementOffset(field));
    };
    note->setInitializer(llvm::ConstantStruct::get(
        type, {number(9), number(16), number(4), name,
               distance(section_bound(module_, "__start_"), 4),
               distance(section_bound(module_, "__stop_"), 5), distance(heap_tag_, 6),
               distance(allocating_finder(module_), 7)}));
    note->setSection(".note.leakline");
    note->setAlignment(llvm::Align(4));
    llvm::appendToUsed(module_, {note, unused});
}

} // namespace leakline
