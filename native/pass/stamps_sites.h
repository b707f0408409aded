// The table of sites that an instrumented object carries (format/sites.md): a *site* is
// one way in which one variable loses a reference at one place of the source.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

#include <cstdint>
#include <string>
#include <vector>

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
    llvm::ConstantInt* first;
    uint64_t step_bytes; // from one descriptor to the next
};

// The size and the alignment of one descriptor.
inline constexpr unsigned descriptor_bytes = 32;

// Where a variable may have got its reference: lines of the source.
struct Births {
    uint64_t list = 0;  // its place among all lists
    unsigned count = 0; // 0: nothing is known
};

// While code is optimised a site is a number, the distance of its descriptor from the
// start of the table: thousands of addresses would be looked at by every pass that goes
// through the constants of a module. The table is written when the code of notes is.
class SiteTable {
  public:
    explicit SiteTable(llvm::Module& module);

    // The descriptor of a site whose reference was born on an unknown line.
    llvm::ConstantInt* add(const Site& site);

    // The descriptor of a site. Its distance plus the number of a birth, counted from
    // 1, stands for a loss of the reference that was born there; 0: not known.
    llvm::ConstantInt* add(const Site& site, const Births& births);

    // The same for several places.
    SiteRow add_row(Site site, llvm::ArrayRef<llvm::DebugLoc> places,
                    const Births& births);

    // A list that all sites of one variable share.
    Births births(llvm::ArrayRef<unsigned> lines);

    // The table with all sites, which is to be written once.
    llvm::GlobalVariable* write();

  private:
    // Texts are told by their places among all texts.
    struct Descriptor {
        uint64_t place;
        uint64_t file;
        uint64_t function;
        uint64_t variable;
        unsigned line;
        unsigned column;
        Births births;
        Cause cause;
    };

    Descriptor describe(const Site& site);
    std::string bytes_of(const Descriptor& site) const;
    uint64_t text(llvm::StringRef text);
    void write_note();
    void name_units();

    llvm::Module& module_;
    llvm::GlobalVariable* heap_tag_;
    std::vector<Descriptor> descriptors_;
    uint64_t size_bytes_; // of descriptors, with the room for births behind each
    std::string lists_;   // of births: they lie behind the descriptors
    std::string texts_;   // these lie behind the lists
    llvm::StringMap<uint64_t> places_of_texts_;
};

} // namespace leakline
