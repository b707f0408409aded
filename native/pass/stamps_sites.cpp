#include "stamps_sites.h"

#include "stamps_contexts.h"
#include "stamps_layout.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/Support/Endian.h"
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

// How far the target lies behind a 32-bit field at an offset of what starts at `place`.
// Needs no relocation when the module is loaded.
llvm::Constant* relative(llvm::Constant* target, llvm::GlobalVariable* place,
                         uint64_t offset) {
    llvm::Module& module = *place->getParent();
    auto* offset_type = llvm::Type::getInt64Ty(module.getContext());
    auto* here = llvm::ConstantExpr::getGetElementPtr(
        llvm::Type::getInt8Ty(module.getContext()), place,
        llvm::ConstantInt::get(offset_type, offset));
    auto* distance =
        llvm::ConstantExpr::getSub(llvm::ConstantExpr::getPtrToInt(target, offset_type),
                                   llvm::ConstantExpr::getPtrToInt(here, offset_type));
    return llvm::ConstantExpr::getTrunc(distance, word(module));
}

void append_word(std::string& bytes, uint64_t value) {
    char number[sizeof(uint32_t)];
    llvm::support::endian::write32le(number, static_cast<uint32_t>(value));
    bytes.append(number, sizeof number);
}

} // namespace

// The first descriptor is of no site: so the section, and with it its bounds, exist.
SiteTable::SiteTable(llvm::Module& module)
    : module_(module), heap_tag_(heap_tag_variable(module)),
      size_bytes_(descriptor_bytes) {
    write_note();
    name_units();
}

llvm::ConstantInt* SiteTable::add(const Site& site) {
    return add(site, {});
}

llvm::ConstantInt* SiteTable::add(const Site& site, const Births& births) {
    return add_row(site, {site.where}, births).first;
}

SiteRow SiteTable::add_row(Site site, llvm::ArrayRef<llvm::DebugLoc> places,
                           const Births& births) {
    auto* type = llvm::Type::getInt64Ty(module_.getContext());
    uint64_t step_bytes =
        descriptor_bytes + births.count / descriptor_bytes * uint64_t{descriptor_bytes};
    SiteRow row = {llvm::ConstantInt::get(type, size_bytes_), step_bytes};
    for (const llvm::DebugLoc& place : places) {
        site.where = place;
        Descriptor descriptor = describe(site);
        descriptor.births = births;
        descriptors_.push_back(descriptor);
        size_bytes_ += step_bytes;
    }
    return row;
}

Births SiteTable::births(llvm::ArrayRef<unsigned> lines) {
    uint64_t list = lists_.size();
    for (unsigned line : lines) {
        append_word(lists_, line);
    }
    return {list, static_cast<unsigned>(lines.size())};
}

SiteTable::Descriptor SiteTable::describe(const Site& site) {
    const llvm::DISubprogram* subprogram = subprogram_of(site);
    unsigned line = site.where ? site.where.getLine()
                               : (subprogram != nullptr ? subprogram->getLine() : 0);
    unsigned column = site.where ? site.where.getCol() : 0;
    return {size_bytes_,
            text(file_of(site, subprogram)),
            text(function_of(site, subprogram)),
            text(site.variable),
            line,
            column,
            {},
            site.cause};
}

llvm::GlobalVariable* SiteTable::write() {
    std::string table(size_bytes_, '\0');
    for (const Descriptor& descriptor : descriptors_) {
        table.replace(descriptor.place, descriptor_bytes, bytes_of(descriptor));
    }
    table += lists_ + texts_;
    auto* bytes =
        llvm::ConstantDataArray::getString(module_.getContext(), table, false);
    auto* variable = new llvm::GlobalVariable(module_, bytes->getType(), true,
                                              llvm::GlobalValue::InternalLinkage, bytes,
                                              "leakline.sites");
    variable->setSection(section);
    variable->setAlignment(llvm::Align(descriptor_bytes));
    llvm::appendToUsed(module_, {variable});
    return variable;
}

// Distances are from the field that tells them.
std::string SiteTable::bytes_of(const Descriptor& site) const {
    std::string bytes;
    auto append_distance = [&](uint64_t target) {
        append_word(bytes, target - (site.place + bytes.size()));
    };
    uint64_t first_text = size_bytes_ + lists_.size();
    for (uint64_t place : {site.file, site.function, site.variable}) {
        append_distance(first_text + place);
    }
    append_word(bytes, site.line);
    if (site.births.count > 0) {
        append_distance(size_bytes_ + site.births.list);
    } else {
        append_word(bytes, 0);
    }
    append_word(bytes, site.column | static_cast<uint64_t>(site.cause) << 16);
    bytes.resize(descriptor_bytes);
    return bytes;
}

uint64_t SiteTable::text(llvm::StringRef text) {
    auto [known, is_new] = places_of_texts_.try_emplace(text, texts_.size());
    if (is_new) {
        texts_ += text;
        texts_ += '\0';
    }
    return known->second;
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

void SiteTable::write_note() {
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
    llvm::appendToUsed(module_, {note});
}

} // namespace leakline
