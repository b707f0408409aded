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

class NotePass : public llvm::PassInfoMixin<NotePass> {
  public:
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
        leakline::SiteTable sites(module);
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
};

class ExpandPass : public llvm::PassInfoMixin<ExpandPass> {
  public:
    llvm::PreservedAnalyses run(llvm::Module& module,
                                llvm::ModuleAnalysisManager& analyses) {
        auto& functions =
            analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module)
                .getManager();
        return leakline::expand_stamps(module, functions)
                   ? llvm::PreservedAnalyses::none()
                   : llvm::PreservedAnalyses::all();
    }

    static bool isRequired() {
        return true;
    }
};

} // namespace

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "leakline-stamps", "1",
            [](llvm::PassBuilder& builder) {
                builder.registerPipelineStartEPCallback(
                    [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
                        passes.addPass(NotePass());
                    });
                builder.registerOptimizerLastEPCallback(
                    [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
                        passes.addPass(ExpandPass());
                    });
            }};
}
