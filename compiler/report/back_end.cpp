#include "compiler/report/back_end.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/sass/banks.h"
#include "compiler/sass/cubin.h"
#include "compiler/sass/flow.h"

namespace tilec {
namespace {

// Where rewritten loops have been timed beside assembled ones.
constexpr std::string_view kMeasuredTargets[] = {"sm_90a"};

struct Loop {
  int registers = 0;
  std::optional<double> cycles_per_fma;
};

// Of the kernel of that name: where blocks share K, the cubin holds another that adds up.
Loop read_loop(std::span<const uint8_t> file, const std::string& name) {
  Loop loop;
  const dsl::Result<sass::Cubin> cubin = sass::read_cubin(file);
  if (!cubin) return loop;
  const sass::Kernel* named = cubin->find(name);
  const sass::Kernel& kernel = named != nullptr ? *named : cubin->kernels.front();
  loop.registers = kernel.registers;
  const std::vector<sass::Instruction> all = sass::decode_all(kernel.words, cubin->sm);
  const sass::Flow flow = sass::find_flow(all);
  const std::optional<size_t> steady = sass::steady_loop(flow, all);
  if (!steady) return loop;
  std::vector<const sass::Instruction*> body;
  for (const size_t i : sass::instructions_of(flow, flow.loops[*steady], all))
    body.push_back(&all[i]);
  if (const sass::BankUse use = sass::bank_use(body); use.fmas > 0)
    loop.cycles_per_fma = use.cycles_per_fma();
  return loop;
}

std::string cycles(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : std::string("no");
}

}  // namespace

BackEnd describe_back_end(const Artifact& artifact, const Target& target) {
  const SassReport& sass = artifact.sass;
  const std::string& name = artifact.spec.name;
  const Loop now = read_loop(artifact.cubin, name);
  const Loop before = sass.rewritten ? read_loop(sass.assembled, name) : now;
  return {.rewritten = sass.rewritten,
          .why_not = sass.rewritten        ? std::string()
                     : !artifact.spec.sass ? std::string("the spec says `sass off`")
                                           : sass.why_not,
          .measured = std::ranges::count(kMeasuredTargets, target.limits.target) != 0,
          .registers_assembled = before.registers,
          .registers = now.registers,
          .cycles_per_fma_assembled = before.cycles_per_fma,
          .cycles_per_fma = now.cycles_per_fma};
}

std::string back_end_text(const BackEnd& back_end, std::string_view target) {
  if (!back_end.rewritten) return fmt::format("Steady loop as assembled: {}\n", back_end.why_not);
  std::string out = fmt::format(
      "Steady loop rewritten and proved: {} to {} registers, {} to {} cycles an FMA (predicted "
      "from the register banks)\n",
      back_end.registers_assembled, back_end.registers, cycles(back_end.cycles_per_fma_assembled),
      cycles(back_end.cycles_per_fma));
  if (!back_end.measured)
    out += fmt::format(
        "  nobody has measured a rewritten loop on {}: `sass off` keeps the "
        "assembler's\n",
        target);
  return out;
}

}  // namespace tilec
