#include "stamps_losing.h"

#include "stamps_callees.h"
#include "stamps_slots.h"
#include "stamps_unions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"

namespace leakline {

namespace {

// The type that the compiler gives to what may be of any type, as members of unions.
bool is_of_any_type(const llvm::StoreInst& store) {
    const llvm::MDNode* tag = store.getMetadata(llvm::LLVMContext::MD_tbaa);
    if (tag == nullptr || tag->getNumOperands() < 2) {
        return true;
    }
    auto* type = llvm::dyn_cast<llvm::MDNode>(tag->getOperand(1));
    if (type == nullptr || type->getNumOperands() == 0) {
        return true;
    }
    auto* name = llvm::dyn_cast<llvm::MDString>(type->getOperand(0));
    return name != nullptr &&
           (name->getString() == "omnipotent char" || name->getString() == "long");
}

bool contains_pointers(llvm::Type* type, const llvm::DataLayout& layout) {
    return !pointer_offsets(type, layout).empty();
}

} // namespace

bool may_overwrite_pointer(const llvm::StoreInst& store) {
    llvm::Type* type = store.getValueOperand()->getType();
    if (type->isPointerTy()) {
        return true;
    }
    const llvm::DataLayout& layout = store.getModule()->getDataLayout();
    if (type->isAggregateType()) {
        return contains_pointers(type, layout);
    }
    if (!type->isSingleValueType()) {
        return false;
    }
    const llvm::Value* slot = store.getPointerOperand();
    bool may_be_slot = layout.getTypeStoreSize(type) == 8 &&
                       !llvm::isa<llvm::AllocaInst>(slot) && is_of_any_type(store);
    return may_be_slot || offset_in_union(slot, layout).has_value();
}

bool may_overwrite_pointers(const llvm::AnyMemIntrinsic& copy) {
    if (auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(copy.getLength())) {
        if (bytes->getZExtValue() < 8) {
            return false;
        }
    }
    llvm::Value* base = base_of(copy.getRawDest());
    const llvm::DataLayout& layout = copy.getModule()->getDataLayout();
    if (auto* place = llvm::dyn_cast<llvm::AllocaInst>(base)) {
        return contains_pointers(place->getAllocatedType(), layout);
    }
    if (auto* global = llvm::dyn_cast<llvm::GlobalVariable>(base)) {
        return contains_pointers(global->getValueType(), layout);
    }
    return true;
}

std::vector<unsigned> replaced_outputs(const llvm::CallBase& call) {
    auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand());
    if (assembly == nullptr) {
        return {};
    }
    llvm::SmallPtrSet<llvm::Value*, 4> read;
    std::vector<unsigned> written;
    unsigned argument = 0;
    for (const llvm::InlineAsm::ConstraintInfo& operand :
         assembly->ParseConstraints()) {
        if (!operand.hasArg()) {
            continue;
        }
        if (operand.Type == llvm::InlineAsm::isInput) {
            read.insert(call.getArgOperand(argument));
        } else if (llvm::Type* type = call.getParamElementType(argument);
                   type != nullptr && (type->isPointerTy() || type->isIntegerTy(64))) {
            written.push_back(argument);
        }
        argument++;
    }
    llvm::erase_if(written, [&](unsigned number) {
        return read.contains(call.getArgOperand(number));
    });
    return written;
}

bool is_harmless_library_function(llvm::StringRef name) {
    static const llvm::StringSet<> names = {"strlen",
                                            "strnlen",
                                            "strcmp",
                                            "strncmp",
                                            "strcasecmp",
                                            "strncasecmp",
                                            "memcmp",
                                            "bcmp",
                                            "strchr",
                                            "strrchr",
                                            "strchrnul",
                                            "strstr",
                                            "strpbrk",
                                            "strspn",
                                            "strcspn",
                                            "strcoll",
                                            "memchr",
                                            "memrchr",
                                            "rawmemchr",
                                            "memmem",
                                            "printf",
                                            "fprintf",
                                            "sprintf",
                                            "snprintf",
                                            "vprintf",
                                            "vfprintf",
                                            "vsprintf",
                                            "vsnprintf",
                                            "dprintf",
                                            "puts",
                                            "putchar",
                                            "fputs",
                                            "fputc",
                                            "putc",
                                            "fwrite",
                                            "fread",
                                            "fgets",
                                            "getc",
                                            "fgetc",
                                            "getchar",
                                            "ungetc",
                                            "fflush",
                                            "ferror",
                                            "feof",
                                            "fileno",
                                            "fseek",
                                            "ftell",
                                            "fopen",
                                            "perror",
                                            "read",
                                            "write",
                                            "open",
                                            "close",
                                            "lseek",
                                            "isatty",
                                            "malloc",
                                            "calloc",
                                            "strdup",
                                            "strndup",
                                            "_Znwm",
                                            "_Znam",
                                            "abort",
                                            "exit",
                                            "_exit",
                                            "strtol",
                                            "strtoul",
                                            "strtoll",
                                            "strtoull",
                                            "strtod",
                                            "atoi",
                                            "atol",
                                            "atof",
                                            "toupper",
                                            "tolower",
                                            "isalpha",
                                            "isdigit",
                                            "isspace",
                                            "strcpy",
                                            "strncpy",
                                            "strcat",
                                            "strncat",
                                            "stpcpy",
                                            "strerror",
                                            "getenv",
                                            "time",
                                            "clock",
                                            "gettimeofday",
                                            "clock_gettime",
                                            "localtime",
                                            "gmtime",
                                            "localtime_r",
                                            "gmtime_r",
                                            "mktime",
                                            "strftime",
                                            "rand",
                                            "srand",
                                            "random",
                                            "srandom",
                                            "pow",
                                            "fmod",
                                            "floor",
                                            "ceil",
                                            "sqrt",
                                            "sin",
                                            "cos",
                                            "tan",
                                            "atan2",
                                            "exp",
                                            "log",
                                            "log2",
                                            "log10",
                                            "localeconv",
                                            "setlocale",
                                            "__ctype_b_loc",
                                            "__ctype_tolower_loc",
                                            "__ctype_toupper_loc",
                                            "__errno_location",
                                            "__assert_fail",
                                            "setjmp",
                                            "_setjmp",
                                            "__sigsetjmp",
                                            "stat",
                                            "fstat",
                                            "lstat",
                                            "unlink",
                                            "access",
                                            "getpid"};
    return names.contains(name);
}

// Starts from the belief that nobody loses anything and takes back what is not so.
Losing::Losing(llvm::Module& module) : freeing_(module), possible_(module, freeing_) {
    for (llvm::Function& function : module) {
        if (!function.isDeclaration() && !function.isInterposable()) {
            harmless_.insert(&function);
        }
    }
    bool changed = true;
    while (changed) {
        changed = false;
        for (llvm::Function& function : module) {
            if (harmless_.contains(&function) && body_may_lose(function)) {
                harmless_.erase(&function);
                changed = true;
            }
        }
    }
}

bool Losing::may_lose(const llvm::CallBase& call) const {
    if (auto* copy = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&call)) {
        return may_overwrite_pointers(*copy);
    }
    if (call.isInlineAsm()) {
        return !replaced_outputs(call).empty();
    }
    if (auto* known = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) {
        // All others run while a coroutine waits.
        return known->getIntrinsicID() == llvm::Intrinsic::coro_suspend;
    }
    const llvm::Function* callee = callee_of(call);
    if (callee == nullptr) {
        return true;
    }
    return callee->isDeclaration() ? !is_harmless_library_function(callee->getName())
                                   : !harmless_.contains(callee);
}

bool Losing::body_may_lose(llvm::Function& function) const {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
            if (!llvm::isa<llvm::AllocaInst>(base_of(store->getPointerOperand())) &&
                may_overwrite_pointer(*store)) {
                return true;
            }
        } else if (auto* copy = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&instruction)) {
            if (!llvm::isa<llvm::AllocaInst>(base_of(copy->getRawDest())) &&
                may_overwrite_pointers(*copy)) {
                return true;
            }
        } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
            if (may_lose(*call)) {
                return true;
            }
        } else if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(
                       instruction)) {
            return true;
        }
    }
    return false;
}

} // namespace leakline
