// The head of a kernel, and its storages.
#include "compiler/ir/parse_head.h"

namespace tilec::ir {

void HeadParser::head(Kernel& kernel) {
  expect("block");
  kernel.tile = tile(kernel.tile_k);
  raster(kernel);
  if (accept("split_k")) {
    kernel.split_k = number("a number of blocks");
    kernel.cluster = accept("cluster");
  } else if (accept("stream_k")) {
    kernel.stream.tile = tile(kernel.stream.tile_k);
    expect("starts");
    kernel.stream.starts = extent();
  }
  if (accept("batch")) {
    kernel.batch = accept("pointers") ? dsl::Batch::pointers : dsl::Batch::strided;
    if (kernel.batch == dsl::Batch::strided) expect("strided");
  }
  expect("threads");
  expect("warps");
  kernel.map.warps = extent();
  expect("lanes");
  kernel.map.lanes = extent();
  if (accept("rows")) {
    kernel.map.order = dsl::LaneOrder::rows;
  } else if (accept("interleaved")) {
    kernel.map.order = dsl::LaneOrder::interleaved;
  } else {
    expect("columns");
  }
  expect("each");
  kernel.map.each = extent();
  expect("pieces");
  kernel.map.pieces = extent();
}

dsl::Extent HeadParser::tile(int& tile_k) {
  const dsl::Extent out = extent();
  if (!at_cross()) expected("`x` and the slice of K");
  skip_cross();
  tile_k = number("the slice of K");
  return out;
}

void HeadParser::raster(Kernel& kernel) {
  expect("raster");
  if (accept("rows")) {
    kernel.raster = {dsl::RasterOrder::rows, 1};
  } else if (accept("columns")) {
    kernel.raster = {dsl::RasterOrder::columns, 1};
  } else {
    expect("swizzle");
    kernel.raster = {dsl::RasterOrder::swizzle, number("a number of tile rows")};
  }
}

Axis HeadParser::axis(bool optional) {
  if (accept("m")) return Axis::m;
  if (accept("n")) return Axis::n;
  if (accept("k")) return Axis::k;
  if (!optional) expected("an axis: `m`, `n` or `k`");
  return Axis::none;
}

// Axes and extents of what lies in shared memory, up to the closing bracket.
void HeadParser::extents(Storage& s) {
  s.row_axis = axis(false);
  s.rows = number("a number of rows");
  expect(",");
  s.column_axis = axis(false);
  s.columns = number("a number of columns");
  expect("]");
}

Storage HeadParser::storage() {
  Storage s;
  const std::string space = name("a storage");
  s.name = name("a storage name");
  expect("[");
  if (space == "global") {
    s.row_axis = axis(false);
    expect(",");
    s.column_axis = axis(false);
    expect("]");
    expect("vector");
    s.vector = number("elements per access");
    if (accept("parts")) {
      s.parts = number("a number of parts");
    } else {
      s.stretches = accept("stretches");
    }
  } else if (space == "shared") {
    s.space = Space::shared;
    extents(s);
    expect("stages");
    s.stages = number("a number of slots");
    expect("stride");
    s.stride = number("elements from row to row");
    expect("vector");
    s.vector = number("elements per access");
    if (accept("swizzle")) s.swizzle = number("elements per group");
  } else if (space == "exchange") {
    s.space = Space::exchange;
    extents(s);
    expect("vector");
    s.vector = number("elements per access");
  } else {
    s.space = Space::registers;
    s.row_axis = axis(true);
    s.rows = number("a number of elements");
    if (accept(",")) {
      s.column_axis = axis(false);
      s.columns = number("a number of elements");
    }
    expect("]");
  }
  return s;
}

}  // namespace tilec::ir
