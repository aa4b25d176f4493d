// Kernels for the tests of tile IR: small ones, made from specs.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/build_kernel.h"
#include "compiler/passes/passes.h"
#include "compiler/target.h"
#include "dsl/complete.h"

namespace tilec::test {

inline dsl::Spec spec_of(const std::string& text) {
  std::vector<dsl::Limits> limits;
  for (const Target& target : targets()) limits.push_back(target.limits);
  const dsl::Result<std::vector<dsl::Spec>> specs =
      dsl::read_specs({"<test>", text}, limits, "sm_90a");
  EXPECT_TRUE(specs) << dsl::render(specs.error());
  return specs ? (*specs)[0] : dsl::Spec{};
}

inline ir::Kernel built(const std::string& spec_text) {
  const dsl::Spec spec = spec_of(spec_text);
  return passes::build_kernel(spec, dsl::derive(spec, find_target(spec.target)->limits));
}

/// After every pass, as compile() runs them: fragments are led where our own back end goes on.
inline ir::Kernel lowered(const std::string& spec_text) {
  const bool leads = spec_of(spec_text).sass;
  ir::Kernel kernel = built(spec_text);
  for (const passes::PassInfo& pass : passes::all())
    if (leads || pass.name != "lead_fragments") kernel = pass.run(kernel);
  return kernel;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The rule that `verify` finds broken, as "R8"; empty if none.
inline std::string broken_rule(const ir::Kernel& kernel) {
  const dsl::Result<void> verified = ir::verify(kernel);
  return verified ? "" : verified.error().diagnostics[0].code.substr(8);
}

/// One spec for each kind of kernel that the passes make.
inline const std::vector<std::string>& kinds() {
  static const std::vector<std::string> specs = {
      "tile 8x8x2 copy none",
      "tile 8x8x2 lanes rows copy none edges exact",
      "tile 8x8x2 thread 2x2",
      "tile 8x8x2 thread 2x2 split_k 3",
      "tile 8x8x2 thread 2x2 cluster 1x1x3",
      "tile 64x32x8 warp 32x16 thread 4x4 stages 3 cluster 1x1x4",
      "tile 8x8x2 copy none edges exact epilogue acc cluster 1x1x2",
      "tile 8x8x2 thread 2x2 stages 3 stream_k",
      "tile 8x8x2 thread 2x2 stages 2 persistent",
      "tile 16x16x4 thread 4x4 stages 2",
      "tile 64x32x8 warp 32x16 thread 4x4 stages 3 copy register",
      "tile 64x32x8 warp 32x16 thread 4x4 stages 3",
      "tile 64x32x8 warp 32x16 thread 4x4 stages 3 lanes interleaved sass on",
      "tile 64x32x8 warp 32x16 thread 4x4 stages 2 sass on",
      "tile 64x32x8 warp 32x16 thread 4x4 stages 2 copy async shared swizzled",
      "tile 64x32x8 warp 32x16 thread 4x4 stages 1 copy async layout tt",
      "tile 16x16x4 thread 4x4 stages 5 edges exact epilogue acc",
      "tile 16x16x4 thread 4x4 stages 4 layout nt epilogue acc*2 - c raster swizzle 3",
  };
  return specs;
}

}  // namespace tilec::test
