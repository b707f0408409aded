// The table of sites that an instrumented object carries (format/sites.md): a *site* is
// one way in which one variable loses a reference at one place of the source.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

#include <cstdint>
#include <string>

namespace leakline {

// As in format/sites.md.
enum class Cause : uint8_t {
    overwritten = 1,
    out_of_scope = 2,
    never_stored = 3,
};

struct Site {
    llvm::DebugLoc where;
    llvm::Function* function;
    std::string variable; // empty when it has no name
    Cause cause;
};

// Sites that differ in the place only, with their descriptors one behind the other.
struct SiteRow {
    llvm::Constant* first;
    uint64_t step_bytes; // from one descriptor to the next
};

// The size and the alignment of one descriptor.
inline constexpr unsigned descriptor_bytes = 32;

// Where a variable may have got its reference.
struct Births {
    llvm::Constant* lines = nullptr; // null: nothing is known
    unsigned count = 0;
};

class SiteTable {
  public:
    explicit SiteTable(llvm::Module& module);

    // The descriptor of a site whose reference was born on an unknown line.
    llvm::Constant* add(const Site& site);

    // The descriptor of a site. Its address plus the number of a birth, counted from 1,
    // stands for a loss of the reference that was born there; 0: not known.
    llvm::Constant* add(const Site& site, const Births& births);

    // The same for several places.
    SiteRow add_row(Site site, llvm::ArrayRef<llvm::DebugLoc> places,
                    const Births& births);

    // A list that all sites of one variable share.
    Births births(llvm::ArrayRef<unsigned> lines);

  private:
    llvm::Constant* descriptor(const Site& site, llvm::Constant* births,
                               llvm::Constant* place, uint64_t offset);
    llvm::Constant* relative(llvm::Constant* target, llvm::Constant* place,
                             uint64_t offset);
    llvm::Constant* text(llvm::StringRef text);
    void write_note();
    void name_units();

    llvm::Module& module_;
    llvm::StructType* type_;
    llvm::GlobalVariable* heap_tag_;
    llvm::StringMap<llvm::Constant*> texts_;
};

} // namespace leakline
