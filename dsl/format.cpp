#include "dsl/format.h"

#include <fmt/format.h>

#include <vector>

#include "dsl/request.h"
#include "dsl/validate.h"
#include "dsl/words.h"

namespace tilec::dsl {
namespace {

using Clauses = std::vector<std::string>;

std::string text(const Extent& extent) {
  return fmt::format("{}x{}", extent.m, extent.n);
}

std::string vector_text(int width, bool exact) {
  return fmt::format("{}{}", exact ? "" : "at_most ", width);
}

std::string shared_text(const SharedLayout& layout) {
  std::string out(word_for(kOrientationWords, layout.transposed));
  if (layout.padding > 0) out += fmt::format(" padded {}", layout.padding);
  if (layout.swizzled) out += " swizzled";
  return out;
}

std::string shared_text(const SharedRequest& request) {
  std::string out;
  if (request.transposed)
    out += fmt::format(" {}", word_for(kOrientationWords, *request.transposed));
  if (request.padding) out += fmt::format(" padded {}", *request.padding);
  if (request.swizzled) out += " swizzled";
  return out;
}

std::string raster_text(const Raster& raster) {
  std::string out(word_for(kRasterWords, raster.order));
  if (raster.order == RasterOrder::swizzle) out += fmt::format(" {}", raster.width);
  return out;
}

Clauses clauses_of(const Spec& spec) {
  Clauses out;
  out.push_back(fmt::format("tile {}x{}", text(spec.tile), spec.tile_k));
  if (spec.warp) out.push_back(fmt::format("warp {}", text(*spec.warp)));
  out.push_back(fmt::format("thread {}", text(spec.thread)));
  out.push_back(fmt::format("stages {}", spec.stages));
  out.push_back(fmt::format("copy {}", word_for(kCopyWords, spec.copy)));
  out.push_back(fmt::format("vector global {} shared {}",
                            vector_text(spec.vector_global, global_vector_fits(spec)),
                            vector_text(spec.vector_shared, shared_vector_fits(spec))));
  out.push_back(fmt::format("lanes {} {}", word_for(kLaneWords, spec.lanes), text(spec.lane_grid)));
  out.push_back(fmt::format("fragment {}", word_for(kFragmentWords, spec.fragment)));
  if (spec.copy != CopyMode::none) {
    out.push_back(
        fmt::format("shared a {} b {}", shared_text(spec.shared_a), shared_text(spec.shared_b)));
  }
  if (spec.blocks_per_sm > 0) out.push_back(fmt::format("blocks_per_sm {}", spec.blocks_per_sm));
  if (spec.registers > 0) out.push_back(fmt::format("registers {}", spec.registers));
  out.push_back("raster " + raster_text(spec.raster));
  if (spec.split_k > 1) out.push_back(fmt::format("split_k {}", spec.split_k));
  if (spec.cluster > 1) out.push_back(fmt::format("cluster 1x1x{}", spec.cluster));
  if (spec.stream_k) out.push_back("stream_k");
  if (spec.persistent) out.push_back("persistent");
  if (spec.staged_store) out.push_back("staged_store");
  out.push_back("type f32 accumulate f32 output f32");
  out.push_back(fmt::format("layout {}", word_for(kLayoutWords, spec.layout)));
  out.push_back("epilogue " + to_string(spec.epilogue));
  out.push_back(fmt::format("edges {}", word_for(kEdgesWords, spec.edges)));
  out.push_back(spec.sass ? "sass on" : "sass off");
  out.push_back("target " + spec.target);
  return out;
}

std::string one_line(const std::string& name, const Clauses& clauses) {
  std::string body = fmt::format("{}", fmt::join(clauses, " "));
  return name == "gemm" ? body : fmt::format("kernel {} {{ {} }}", name, body);
}

}  // namespace

std::string format(const Spec& spec) {
  return one_line(spec.name, clauses_of(spec));
}

std::string format_lines(const Spec& spec) {
  Clauses clauses = clauses_of(spec);
  if (spec.name == "gemm") return fmt::format("{}", fmt::join(clauses, "\n"));
  return fmt::format("kernel {} {{\n  {}\n}}", spec.name, fmt::join(clauses, "\n  "));
}

std::string to_string(const Request& request) {
  Clauses out;
  if (request.tile) {
    std::string k = request.tile_k ? fmt::format("x{}", *request.tile_k) : "";
    out.push_back(fmt::format("tile {}{}", text(*request.tile), k));
  }
  if (request.warp) out.push_back(fmt::format("warp {}", text(*request.warp)));
  if (request.thread) out.push_back(fmt::format("thread {}", text(*request.thread)));
  if (request.stages) out.push_back(fmt::format("stages {}", *request.stages));
  if (request.copy) out.push_back(fmt::format("copy {}", word_for(kCopyWords, *request.copy)));
  const auto& global = request.vector_global;
  const auto& shared = request.vector_shared;
  if (global && shared && global->exact && *shared == VectorRequest{global->width, false}) {
    out.push_back(fmt::format("vector {}", global->width));
  } else if (global || shared) {
    std::string both = "vector";
    if (global) both += " global " + vector_text(global->width, global->exact);
    if (shared) both += " shared " + vector_text(shared->width, shared->exact);
    out.push_back(both);
  }
  if (request.lanes || request.lane_grid) {
    std::string both = "lanes";
    if (request.lanes) both += fmt::format(" {}", word_for(kLaneWords, *request.lanes));
    if (request.lane_grid) both += " " + text(*request.lane_grid);
    out.push_back(both);
  }
  if (request.fragment) {
    out.push_back(fmt::format("fragment {}", word_for(kFragmentWords, *request.fragment)));
  }
  std::string layouts;
  if (request.shared_a.any()) layouts += " a" + shared_text(request.shared_a);
  if (request.shared_b.any()) layouts += " b" + shared_text(request.shared_b);
  if (!layouts.empty()) out.push_back("shared" + layouts);
  if (request.blocks_per_sm) out.push_back(fmt::format("blocks_per_sm {}", *request.blocks_per_sm));
  if (request.registers) out.push_back(fmt::format("registers {}", *request.registers));
  if (request.raster) out.push_back("raster " + raster_text(*request.raster));
  if (request.stream_k) out.push_back("stream_k");
  if (request.persistent) out.push_back("persistent");
  if (request.staged_store) out.push_back("staged_store");
  if (request.split_k) out.push_back(fmt::format("split_k {}", *request.split_k));
  if (request.cluster) out.push_back(fmt::format("cluster 1x1x{}", *request.cluster));
  if (request.layout)
    out.push_back(fmt::format("layout {}", word_for(kLayoutWords, *request.layout)));
  if (request.epilogue) out.push_back("epilogue " + to_string(*request.epilogue));
  if (request.sass) out.push_back(*request.sass ? "sass on" : "sass off");
  if (request.edges) out.push_back(fmt::format("edges {}", word_for(kEdgesWords, *request.edges)));
  if (request.target) out.push_back("target " + *request.target);
  return one_line(request.name, out);
}

}  // namespace tilec::dsl
