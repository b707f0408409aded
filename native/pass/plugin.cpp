// Registers the facts pass with clang (-fpass-plugin=...). The pass runs before every
// other one, writes the facts to the file that LEAKLINE_FACTS names, and is off without
// that variable.
#include "facts_unit.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

#if LLVM_VERSION_MAJOR != 19
#error "The facts pass is written for LLVM 19; configure with LLVM_DIR of that version."
#endif

namespace {

class FactsPass : public llvm::PassInfoMixin<FactsPass> {
  public:
    explicit FactsPass(std::string path) : path_(std::move(path)) {
    }

    llvm::PreservedAnalyses run(llvm::Module& module,
                                llvm::ModuleAnalysisManager& analyses) {
        std::error_code error;
        llvm::raw_fd_ostream stream(path_, error);
        if (error) {
            llvm::report_fatal_error(llvm::Twine("cannot write facts to ") + path_ +
                                         ": " + error.message(),
                                     false);
        }
        auto& proxy =
            analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module);
        leakline::write_unit(stream, module, proxy.getManager());
        return llvm::PreservedAnalyses::none();
    }

    // User attributes such as optnone must not hide a function from the checker.
    static bool isRequired() {
        return true;
    }

  private:
    std::string path_;
};

void add_facts_pass(llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
    if (const char* path = std::getenv("LEAKLINE_FACTS")) {
        passes.addPass(FactsPass(path));
    }
}

} // namespace

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "leakline-facts", "1",
            [](llvm::PassBuilder& builder) {
                builder.registerPipelineStartEPCallback(add_facts_pass);
            }};
}
