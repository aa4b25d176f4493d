#include "dsl/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "dsl/diagnostics.h"
#include "dsl/text.h"

namespace tilec::dsl {
namespace {

constexpr std::string_view kExample = "a shape is MxNxK, such as 4096x4096x512, or one number";

// One extent of the text, with its place.
struct Part {
  Span span;
  std::string_view text;
};

std::vector<Part> split(std::string_view text) {
  std::vector<Part> parts;
  size_t begin = 0;
  while (true) {
    size_t end = std::min(text.find('x', begin), text.size());
    Span span{static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
    parts.push_back({span, text.substr(begin, end - begin)});
    if (end == text.size()) return parts;
    begin = end + 1;
  }
}

std::optional<int64_t> extent(const Part& part, std::vector<Diagnostic>& faults) {
  int64_t value = 0;
  const char* begin = part.text.data();
  const char* end = begin + part.text.size();
  auto [stop, status] = std::from_chars(begin, end, value);
  bool number = stop == end && !part.text.empty() && status != std::errc::invalid_argument;
  if (!number) {
    std::string found = part.text.empty() ? "an extent is missing here"
                                          : quoted(part.text) + " is not a whole number";
    faults.push_back(diagnose(Fault::malformed_shape, part.span, found, std::string(kExample)));
    return std::nullopt;
  }
  if (status == std::errc::result_out_of_range || value < 0 || value > kMostExtent) {
    faults.push_back(diagnose(Fault::extent_out_of_range, part.span,
                              fmt::format("the extent {} is out of range: it is 0 to {}",
                                          quoted(part.text), kMostExtent)));
    return std::nullopt;
  }
  return value;
}

int64_t tiles_along(int64_t extent, int tile) {
  return (extent + tile - 1) / tile;
}

}  // namespace

Result<GemmShape> parse_shape(std::string_view text) {
  Source source{"<shape>", std::string(text.substr(0, 1000))};
  auto refuse = [&](std::vector<Diagnostic> faults) {
    return tl::unexpected(user_error(source, std::move(faults)));
  };
  std::vector<Part> parts = split(source.text);
  if (parts.size() != 1 && parts.size() != 3) {
    Span all{0, static_cast<uint32_t>(source.text.size())};
    return refuse({diagnose(Fault::malformed_shape, all,
                            fmt::format("{} extents make no shape: it has three", parts.size()),
                            std::string(kExample))});
  }
  std::vector<Diagnostic> faults;
  std::array<int64_t, 3> values{};
  for (size_t i = 0; i < parts.size(); ++i) {
    values[i] = extent(parts[i], faults).value_or(0);
  }
  if (!faults.empty()) return refuse(std::move(faults));
  if (parts.size() == 1) return GemmShape{values[0], values[0], values[0]};
  return GemmShape{values[0], values[1], values[2]};
}

Result<int64_t> grid_blocks(const Spec& spec, const GemmShape& shape) {
  struct Axis {
    char name;
    int64_t extent;
    int tile;
  };
  const Axis axes[] = {
      {'M', shape.m, spec.tile.m}, {'N', shape.n, spec.tile.n}, {'K', shape.k, spec.tile_k}};
  if (spec.edges == Edges::exact) {
    for (const Axis& axis : axes) {
      int64_t below = axis.extent / axis.tile * axis.tile;
      if (below == axis.extent) continue;
      return tl::unexpected(Error::user(
          std::string(row_of(Fault::shape_not_tiled).code),
          fmt::format("edges exact: {} is {}, which the tile's {} does not divide", axis.name,
                      axis.extent, axis.tile),
          fmt::format("{} and {} do, or take `edges guard`", below, below + axis.tile)));
    }
  }
  const int64_t blocks = count_tiles(spec.tile, shape);
  if (blocks <= kMostBlocks) return blocks;
  return tl::unexpected(
      Error::user(std::string(row_of(Fault::grid_over_limit).code),
                  fmt::format("{} x {} tiles of {}x{} are {} blocks, and a grid has at most {}",
                              tiles_along(shape.m, spec.tile.m), tiles_along(shape.n, spec.tile.n),
                              spec.tile.m, spec.tile.n, blocks, kMostBlocks),
                  "a larger tile makes fewer blocks"));
}

int64_t workspace_row(const GemmShape& shape) {
  constexpr int64_t kAlignment = 4;  // elements in 16 bytes
  return (shape.n + kAlignment - 1) / kAlignment * kAlignment;
}

int64_t workspace_bytes(const Spec& spec, const GemmShape& shape) {
  constexpr int64_t kElementBytes = 4;
  if (!spec.leaves_parts() || spec.stream_k) return 0;
  return spec.split_k * shape.m * workspace_row(shape) * kElementBytes;
}

int64_t count_tiles(const Extent& tile, const GemmShape& shape) {
  // Both are below 2^31, so the product fits 64 bits.
  return tiles_along(shape.m, tile.m) * tiles_along(shape.n, tile.n);
}

Stream stream_of(const Spec& spec, const GemmShape& shape, int64_t at_once) {
  constexpr int64_t kMostSlices = 2147483647;  // of all stretches: kernels count in 32 bits
  const Result<int64_t> tiles = grid_blocks(spec, shape);
  if (!spec.stream_k || !tiles || at_once < 1) return {};
  const int64_t rest = *tiles % at_once;
  const int64_t slices = (shape.k + spec.tile_k - 1) / spec.tile_k;
  if (rest * slices == 0 || rest * slices > kMostSlices) return {};
  return {.tiles = rest, .blocks = std::min(at_once, rest * slices)};
}

int64_t stream_workspace_bytes(const Spec& spec, const Stream& stream) {
  constexpr int64_t kElementBytes = 4;
  constexpr int64_t kTiles = 2;  // a stretch touches
  return kTiles * stream.blocks * spec.tile.m * spec.tile.n * kElementBytes;
}

int64_t slices_a_block(const Spec& spec, const GemmShape& shape) {
  const int64_t slices = (shape.k + spec.tile_k - 1) / spec.tile_k;
  return (slices + spec.split_k - 1) / spec.split_k;
}

}  // namespace tilec::dsl
