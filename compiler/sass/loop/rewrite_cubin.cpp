#include "compiler/sass/loop/rewrite_cubin.h"

#include <fmt/format.h>

namespace tilec::sass {

OrWhyNot<RewrittenCubin> rewrite_cubin(std::span<const uint8_t> file, const RewriteOptions& options,
                                       const AfterPass& after, const AfterPart& after_part) {
  const auto end_part = [&](const char* part) {
    if (after_part) after_part(part);
  };
  const dsl::Result<Cubin> cubin = read_cubin(file);
  if (!cubin) return WhyNot(cubin.error().diagnostics[0].message);
  const Kernel* named =
      options.kernel.empty() ? &cubin->kernels.front() : cubin->find(options.kernel);
  if (named == nullptr) return WhyNot(fmt::format("the cubin has no kernel {}", options.kernel));
  const Kernel& kernel = *named;
  const OrWhyNot<Rewritten> rewritten = rewrite_loop(kernel, cubin->sm, options, after);
  end_part("rewrite_loop");
  if (!rewritten) return WhyNot(rewritten.error());
  const std::optional<Finding> finding =
      verify_edit(kernel.words, rewritten->code.words, rewritten->edit, cubin->sm);
  end_part("verify_edit");
  if (finding)
    return WhyNot(fmt::format("not proved: {} ({}, word {} of the new code)", finding->text,
                              finding->rule, finding->word));
  dsl::Result<std::vector<uint8_t>> out = replace_code(file, kernel.name, rewritten->code);
  end_part("replace_code");
  if (!out) return WhyNot(out.error().diagnostics[0].message);
  return RewrittenCubin{std::move(*out), rewritten->code.registers};
}

}  // namespace tilec::sass
