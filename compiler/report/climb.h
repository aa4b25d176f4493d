// The climb: kernels rung by rung in one table, as the articles on fast matrix multiplication have
// it. Each rung's figures come from one report, and one run on a GPU or, without one, the model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/shape.h"

namespace tilec {

struct SizePoint {
  dsl::GemmShape shape;
  double share_of_peak = 0;
};

struct Rung {
  std::string name;
  std::string spec;  // completed
  dsl::GemmShape shape;
  bool measured = false;  // else speed and shares of peak are predicted
  double kernel_us = 0;
  double tflops = 0;
  double clock_mhz = 0;  // that it ran at, or is predicted for
  double share_of_peak = 0;
  std::optional<double> fma_share;  // executed, over the kernel
  std::optional<double> issue_rate()
      const;  // instructions a cycle and scheduler: share / FMA share
  std::optional<double> sectors_per_request;  // counted by the CPU machine
  std::optional<double> wavefronts_per_shared_load;
  int registers = 0;
  int64_t spills = 0;
  int blocks_per_sm = 0;
  int warps_per_sm = 0;
  std::vector<SizePoint> sizes;  // other shapes
};

struct Climb {
  std::string device;
  std::string note;  // where the figures come from
  std::vector<Rung> rungs;
};

std::string climb_markdown(const Climb& climb);
std::string climb_json(const Climb& climb);  // schema "tilec.climb/1"
std::string climb_html(const Climb& climb);  // one self-contained page

}  // namespace tilec
