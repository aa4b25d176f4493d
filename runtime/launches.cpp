#include "runtime/launches.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/shape.h"
#include "runtime/faults.h"

namespace tilec {
namespace {

constexpr int64_t kElementBytes = 4;
constexpr int64_t kPointerBytes = 8;

// A batch fills the device by itself.
dsl::Stream stream_of(const dsl::Spec& spec, const dsl::GemmShape& shape, int64_t batch,
                      int64_t at_once) {
  return batch == 1 ? dsl::stream_of(spec, shape, at_once) : dsl::Stream{};
}

std::vector<Parameter> parameters_of(const KernelCode& code, const KernelArguments& x,
                                     const dsl::Stream& stream) {
  std::vector<Parameter> out = {x.a,
                                x.b,
                                x.c,
                                static_cast<int32_t>(x.m),
                                static_cast<int32_t>(x.n),
                                static_cast<int32_t>(x.k),
                                x.lda,
                                x.ldb,
                                x.ldc,
                                x.alpha,
                                x.beta};
  if (code.spec.leaves_parts()) out.emplace_back(x.workspace);
  if (code.spec.stream_k)
    out.insert(out.end(),
               {static_cast<int32_t>(stream.tiles), static_cast<int32_t>(stream.blocks)});
  if (code.batch == dsl::Batch::strided)
    out.insert(out.end(), {x.stride_a, x.stride_b, x.stride_c});
  return out;
}

// The same arguments for the matrices from `first` on.
KernelArguments from_matrix(KernelArguments x, dsl::Batch batch, int64_t first) {
  const auto move = [&](Address& base, int64_t stride) {
    const int64_t step = batch == dsl::Batch::pointers ? kPointerBytes : stride * kElementBytes;
    base += static_cast<Address>(first * step);
  };
  move(x.a, x.stride_a);
  move(x.b, x.stride_b);
  move(x.c, x.stride_c);
  return x;
}

// Along x of the grid.
int64_t blocks_of(const KernelCode& code, size_t entry, const dsl::GemmShape& shape,
                  const dsl::Stream& stream, int64_t at_once) {
  const dsl::Extent& tile = code.entries[entry].tile;
  const dsl::Extent& whole = code.spec.tile;
  const int64_t tiles = dsl::count_tiles(tile, shape);
  if (code.entries[entry].persistent) return std::min(tiles, at_once);
  if (!code.spec.stream_k) return tiles;
  if (entry == 0) return stream.blocks + tiles - stream.tiles;
  return stream.tiles * (whole.m / tile.m) * (whole.n / tile.n);
}

}  // namespace

KernelCode code_of(const Artifact& artifact) {
  return {artifact.spec, artifact.batch, artifact.entries, std::max(1, artifact.blocks_per_sm)};
}

int64_t blocks_at_once(int sm_count, int blocks_per_sm) {
  return int64_t{std::max(1, sm_count)} * std::max(1, blocks_per_sm);
}

int64_t workspace_needed(const dsl::Spec& spec, const dsl::GemmShape& shape, int64_t batch,
                         int64_t at_once) {
  if (spec.stream_k)
    return dsl::stream_workspace_bytes(spec, stream_of(spec, shape, batch, at_once));
  return dsl::workspace_bytes(spec, shape) * std::min(batch, kMostMatrices);
}

Result<std::vector<Launch>> plan_launches(const KernelCode& code, const KernelArguments& arguments,
                                          int sm_count) {
  const dsl::GemmShape shape{arguments.m, arguments.n, arguments.k};
  const Result<int64_t> tiles = dsl::grid_blocks(code.spec, shape);
  if (!tiles) return tl::unexpected(tiles.error());
  if (code.batch == dsl::Batch::none && arguments.batch != 1)
    return refuse(
        Fault::batch_differs,
        fmt::format("the kernel was compiled for one matrix, and there are {}", arguments.batch));
  std::vector<Launch> out;
  if (*tiles == 0 || arguments.batch < 1) return out;
  const int64_t at_once = blocks_at_once(sm_count, code.blocks_per_sm);
  const dsl::Stream stream = stream_of(code.spec, shape, arguments.batch, at_once);
  const int64_t needed = workspace_needed(code.spec, shape, arguments.batch, at_once);
  if (arguments.workspace_bytes < needed)
    return refuse(
        Fault::workspace_too_small,
        fmt::format("{} at {}x{}x{} needs a workspace of {} bytes, and it has {}",
                    code.spec.stream_k ? "stream_k" : fmt::format("split_k {}", code.spec.split_k),
                    shape.m, shape.n, shape.k, needed, arguments.workspace_bytes),
        code.spec.stream_k ? "a smaller tile needs less" : "a smaller split_k needs less");
  for (int64_t first = 0; first < arguments.batch; first += kMostMatrices) {
    const auto matrices = static_cast<uint32_t>(std::min(arguments.batch - first, kMostMatrices));
    const KernelArguments here = from_matrix(arguments, code.batch, first);
    for (size_t entry = 0; entry < code.entries.size(); ++entry) {
      const uint32_t shares = entry == 0 ? static_cast<uint32_t>(code.spec.split_k) : 1;
      const int64_t blocks = blocks_of(code, entry, shape, stream, at_once);
      if (blocks == 0) continue;
      out.push_back({.entry = entry,
                     .grid = {static_cast<uint32_t>(blocks), shares, matrices},
                     .early = code.entries[entry].awaits_before,
                     .parameters = parameters_of(code, here, stream)});
    }
  }
  return out;
}

}  // namespace tilec
