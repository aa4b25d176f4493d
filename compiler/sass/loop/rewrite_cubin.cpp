#include "compiler/sass/loop/rewrite_cubin.h"

#include <fmt/format.h>

namespace tilec::sass {

OrWhyNot<RewrittenCubin> rewrite_cubin(std::span<const uint8_t> file, const RewriteOptions& options,
                                       const AfterPass& after) {
  const dsl::Result<Cubin> cubin = read_cubin(file);
  if (!cubin) return WhyNot(cubin.error().diagnostics[0].message);
  const Kernel& kernel = cubin->kernels.front();
  const OrWhyNot<Rewritten> rewritten = rewrite_loop(kernel, cubin->sm, options, after);
  if (!rewritten) return WhyNot(rewritten.error());
  if (const auto finding =
          verify_edit(kernel.words, rewritten->code.words, rewritten->edit, cubin->sm))
    return WhyNot(fmt::format("not proved: {} ({}, word {} of the new code)", finding->text,
                              finding->rule, finding->word));
  dsl::Result<std::vector<uint8_t>> out = replace_code(file, kernel.name, rewritten->code);
  if (!out) return WhyNot(out.error().diagnostics[0].message);
  return RewrittenCubin{std::move(*out), rewritten->code.registers};
}

}  // namespace tilec::sass
