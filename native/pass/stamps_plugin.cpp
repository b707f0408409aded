// Registers with clang (-fpass-plugin=...) what `leakline cc` adds to a compilation:
// the notes of lost references before every other pass, their code after all of them.
#include "stamps_endless.h"
#include "stamps_expand.h"
#include "stamps_function.h"
#include "stamps_locals.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/TargetParser/Triple.h"

#include <memory>
#include <optional>
#include <utility>

#if LLVM_VERSION_MAJOR != 16 && LLVM_VERSION_MAJOR != 19
#error "The pass is written for LLVM 16 and 19; configure for one of these versions."
#endif

namespace {

llvm::cl::opt<bool> notes_births("leakline-births",
                                 llvm::cl::desc("Note births of references in memory"));

llvm::cl::opt<bool>
    without_locals("leakline-without-locals",
                   llvm::cl::desc("Leave local variables out of debug information"));

leakline::MemoryBirths memory_births() {
    return notes_births ? leakline::MemoryBirths::noted
                        : leakline::MemoryBirths::unknown;
}

bool is_supported(const llvm::Module& module) {
    llvm::Triple target(module.getTargetTriple());
    return target.getArch() == llvm::Triple::x86_64 && target.isOSLinux() &&
           !target.isX32();
}

// That includes bodies of which only inlined copies stay (C99's `inline`).
bool is_instrumented(const llvm::Function& function) {
    return !function.isDeclaration() &&
           !function.hasFnAttribute(llvm::Attribute::Naked);
}

// What one pass leaves for the other; nothing where the module is not supported.
using SharedSites = std::shared_ptr<std::optional<leakline::SiteTable>>;

class NotePass : public llvm::PassInfoMixin<NotePass> {
  public:
    explicit NotePass(SharedSites sites) : sites_(std::move(sites)) {
    }

    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
        if (!is_supported(module)) {
            return llvm::PreservedAnalyses::all();
        }
        std::vector<llvm::Function*> functions;
        for (llvm::Function& function : module) {
            if (is_instrumented(function)) {
                functions.push_back(&function);
            }
        }
        leakline::mark_endless_functions(module);
        leakline::Losing losing(module);
        leakline::SiteTable& sites = sites_->emplace(module);
        leakline::Emitter emitter(module, memory_births());
        for (llvm::Function* function : functions) {
            leakline::instrument(*function, {sites, emitter, losing});
        }
        if (without_locals) {
            leakline::forget_local_variables(module);
        }
        return llvm::PreservedAnalyses::none();
    }

    // Functions that are not to be optimised lose references all the same.
    static bool isRequired() {
        return true;
    }

  private:
    SharedSites sites_;
};

class ExpandPass : public llvm::PassInfoMixin<ExpandPass> {
  public:
    explicit ExpandPass(SharedSites sites) : sites_(std::move(sites)) {
    }

    llvm::PreservedAnalyses run(llvm::Module& module,
                                llvm::ModuleAnalysisManager& analyses) {
        if (!*sites_) {
            return llvm::PreservedAnalyses::all();
        }
        auto& functions =
            analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module)
                .getManager();
        leakline::expand_stamps(module, **sites_, functions);
        sites_->reset();
        return llvm::PreservedAnalyses::none();
    }

    static bool isRequired() {
        return true;
    }

  private:
    SharedSites sites_;
};

} // namespace

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "leakline-stamps", "1",
            [](llvm::PassBuilder& builder) {
                auto sites =
                    std::make_shared<std::optional<leakline::SiteTable>>(std::nullopt);
                builder.registerPipelineStartEPCallback(
                    [=](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
                        passes.addPass(NotePass(sites));
                    });
                builder.registerOptimizerLastEPCallback(
                    [=](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
                        passes.addPass(ExpandPass(sites));
                    });
            }};
}
