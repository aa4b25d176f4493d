// LLVM's part: optimisation passes and the NVPTX back end.
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/emitter.h"
#include "compiler/ir/text.h"

namespace tilec::codegen {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Registers the back end, once. Shared memory is addressed in 32 bits.
void start_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    const char* options[] = {"tilec", "-nvptx-short-ptr"};
    llvm::cl::ParseCommandLineOptions(2, options);
  });
}

// The fence of a cluster (emit_cluster.cpp) came after the targets that have clusters.
int ptx_version(std::span<const ir::Kernel> kernels, const Target& target) {
  constexpr int kFence = 86;
  const bool cluster = std::ranges::any_of(kernels, &ir::Kernel::cluster);
  return cluster ? std::max(target.ptx_version, kFence) : target.ptx_version;
}

std::unique_ptr<llvm::TargetMachine> machine_for(const Target& target, int ptx_version,
                                                 std::string& error) {
  const llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (found == nullptr) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // fused only where we say so
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, target.limits.target, "+ptx" + std::to_string(ptx_version), options,
      llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

// A few passes in place of -O2: the emitter makes SSA form already, and nothing is left to inline
// or to unroll.
void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::ADCEPass());
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
}

}  // namespace

dsl::Result<Generated> generate(std::span<const ir::Kernel> kernels, const Target& target) {
  Generated out;
  Clock::time_point start = Clock::now();
  const auto lap = [&](const char* stage) {
    out.times.push_back({stage, ms_since(start)});
    start = Clock::now();
  };
  start_llvm();
  std::string error;
  const std::unique_ptr<llvm::TargetMachine> machine =
      machine_for(target, ptx_version(kernels, target), error);
  if (machine == nullptr) return tl::unexpected(dsl::Error::internal("no NVPTX target: " + error));

  llvm::LLVMContext context;
  const std::string& name = kernels.front().name;
  const auto module = std::make_unique<llvm::Module>(name, context);
  int lines = 0;
  for (const ir::Kernel& kernel : kernels) {
    Emitter(kernel, *module, name + ".tile", lines).emit();
    const std::string text = ir::print(kernel);
    lines += static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  llvm::raw_string_ostream complaint(error);
  if (llvm::verifyModule(*module, &complaint))
    return tl::unexpected(dsl::Error::internal("LLVM rejects the module: " + error));
  lap("emit_llvm");

  optimise(*module, *machine);
  llvm::raw_string_ostream text(out.llvm);
  module->print(text, nullptr);
  lap("optimise_llvm");

  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager backend;
  if (machine->addPassesToEmitFile(backend, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return tl::unexpected(dsl::Error::internal("the NVPTX back end writes no assembly"));
  backend.run(*module);
  out.ptx = ptx.str().str();
  lap("emit_ptx");
  return out;
}

}  // namespace tilec::codegen
