#include "compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "compiler/codegen/assemble.h"
#include "compiler/codegen/codegen.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/build_kernel.h"
#include "compiler/passes/passes_list.h"
#include "compiler/sass/listing.h"
#include "compiler/sass/loop/rewrite_cubin.h"

namespace tilec {
namespace {

using Clock = std::chrono::steady_clock;

// Verifies, times and dumps what each pass makes. The first fault is kept and stops the rest.
class Watch {
 public:
  Watch(const CompileOptions& options, Artifact& artifact)
      : options_(options), artifact_(artifact), start_(Clock::now()) {}

  /// The kernel that `pass` made, once verified.
  ir::Kernel after(const std::string& pass, ir::Kernel kernel) {
    if (failed()) return kernel;
    lap(pass);
    if (dumps(pass)) artifact_.dumps.push_back({pass, ir::print(kernel)});
    if (const dsl::Result<void> verified = ir::verify(kernel); !verified)
      error_ = dsl::Error::internal(fmt::format(
          "after {}: {}\n{}", pass, verified.error().diagnostics[0].message, ir::print(kernel)));
    lap("verify");
    return kernel;
  }

  /// The same behind the assembler, where the loop's own verifier comes last.
  void after_sass(const std::string& pass, const std::string& text) {
    artifact_.dumps.push_back({pass, text});
  }

  bool dumps(const std::string& pass) const {
    return std::any_of(
        options_.dump_after.begin(), options_.dump_after.end(),
        [&](const std::string& wanted) { return wanted == pass || wanted == "all"; });
  }

  void lap(const std::string& stage) {
    const Clock::time_point now = Clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - start_).count();
    start_ = now;
    for (StageTime& time : artifact_.times)
      if (time.stage == stage) {
        time.ms += ms;
        return;
      }
    artifact_.times.push_back({stage, ms});
  }

  bool failed() const { return !error_.diagnostics.empty(); }
  const dsl::Error& error() const { return error_; }

 private:
  const CompileOptions& options_;
  Artifact& artifact_;
  Clock::time_point start_;
  dsl::Error error_;
};

int blocks_that_fit(const Artifact& artifact, const Target& target) {
  dsl::Derived derived = artifact.derived;
  derived.registers_expected = artifact.assembler.registers;
  return dsl::residency(derived, artifact.spec, target.limits).blocks();
}

// Registers a thread may have without one block an SM less than the assembled kernel gets.
int registers_to_spare(const Artifact& artifact, const Target& target) {
  const dsl::Derived& derived = artifact.derived;
  dsl::Spec spec = artifact.spec;
  spec.blocks_per_sm = artifact.blocks_per_sm;
  return dsl::registers_allowed(spec, derived.threads, target.limits);
}

std::string list_body(const sass::Body& body) {
  std::vector<sass::Instruction> instructions;
  instructions.reserve(body.ops.size());
  for (const sass::LoopOp& op : body.ops) instructions.push_back(op.instruction);
  return sass::list_instructions(instructions);
}

void rewrite_loop(const Target& target, Artifact& artifact, Watch& watch) {
  // ir::verify has proved rules R8 and R9 of this kernel.
  const sass::RewriteOptions options{.order = {.slots_apart = true},
                                     .max_registers = registers_to_spare(artifact, target),
                                     .kernel = artifact.entries.front().name};
  const auto dump = [&](const char* pass, const sass::Body& body) {
    if (watch.dumps(pass)) watch.after_sass(pass, list_body(body));
  };
  sass::OrWhyNot<sass::RewrittenCubin> rewritten = sass::rewrite_cubin(
      artifact.cubin, options, dump, [&](const char* part) { watch.lap(part); });
  if (!rewritten) {
    artifact.sass.why_not = rewritten.error();
    return;
  }
  artifact.sass.rewritten = true;
  artifact.sass.assembled = std::exchange(artifact.cubin, std::move(rewritten->file));
  artifact.assembler.registers = rewritten->registers;
}

// The pipeline: from the first tile IR of a kernel to the last.
ir::Kernel lower(ir::Kernel kernel, bool sass, Watch& watch) {
  // The kernel is right for every shape; every access is guarded, nothing overlaps.
  kernel = watch.after("split_edges", passes::split_edges(kernel));
  kernel = watch.after("lower_copies", passes::lower_copies(kernel));
  // Whole tiles have a path without guards; copies are what the machine has.
  kernel = watch.after("pipeline_slices", passes::pipeline_slices(kernel));
  kernel = watch.after("split_epilogue", passes::split_epilogue(kernel));
  kernel = watch.after("unroll_slices", passes::unroll_slices(kernel));
  if (sass) kernel = watch.after("lead_fragments", passes::lead_fragments(kernel));
  // The order of accesses is final.
  kernel = watch.after("insert_barriers", passes::insert_barriers(kernel));
  // The kernel is synchronised: threads may run at their own pace.
  return kernel;
}

Entry entry_of(const ir::Kernel& kernel, int64_t shared_bytes) {
  return {.name = kernel.name,
          .tile = kernel.tile,
          .threads = kernel.map.threads(),
          .shared_bytes = shared_bytes,
          .persistent = kernel.persistent,
          .awaits_before = ir::awaits_launch_before(kernel)};
}

}  // namespace

std::span<const std::string_view> sass_passes() {
  static constexpr std::array<std::string_view, 5> kPasses = {
      "assemble", "pair_pointers", "place_registers", "order_loop", "set_control"};
  return kPasses;
}

dsl::Result<Artifact> compile(const dsl::Spec& spec, const Target& target,
                              const CompileOptions& options) {
  Artifact out;
  out.spec = spec;
  out.derived = dsl::derive(spec, target.limits);
  out.batch = options.batch;
  out.blocks_per_sm = out.derived.blocks_per_sm;
  Watch watch(options, out);

  std::vector<ir::Kernel> kernels;
  kernels.push_back(
      lower(watch.after("build_kernel", passes::build_kernel(spec, out.derived, options.batch)),
            spec.sass, watch));
  out.entries.push_back(entry_of(kernels.back(), out.derived.shared_bytes));
  if (spec.leaves_parts()) {
    kernels.push_back(
        lower(watch.after("build_sum", passes::build_sum(spec, out.derived, options.batch)), false,
              watch));
    out.entries.push_back(entry_of(kernels.back(), 0));
  }
  if (watch.failed()) return tl::unexpected(watch.error());
  for (const ir::Kernel& kernel : kernels) out.tile += ir::print(kernel);

  dsl::Result<codegen::Generated> generated = codegen::generate(kernels, target);
  if (!generated) return tl::unexpected(generated.error());
  out.llvm = std::move(generated->llvm);
  out.ptx = std::move(generated->ptx);
  out.times.insert(out.times.end(), generated->times.begin(), generated->times.end());
  if (options.assembler == Assembler::none) return out;

  watch.lap("");  // what generate() took is timed there
  out.times.pop_back();
  dsl::Result<codegen::Assembled> assembled =
      codegen::assemble(out.ptx, target.limits.target, options.assembler);
  watch.lap("assemble");
  if (assembled) {
    out.cubin = std::move(assembled->cubin);
    out.assembler = std::move(assembled->report);
    out.blocks_per_sm = blocks_that_fit(out, target);
    if (watch.dumps("assemble"))
      watch.after_sass("assemble", sass::list_cubin(out.cubin).value_or(""));
    watch.lap("");
    out.times.pop_back();
    if (spec.sass) rewrite_loop(target, out, watch);
    return out;
  }
  const dsl::Diagnostic& why = assembled.error().diagnostics[0];
  if (options.assemble_required || why.code != "no-assembler")
    return tl::unexpected(assembled.error());
  out.assembler.log = why.message;
  return out;
}

}  // namespace tilec
