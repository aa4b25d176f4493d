// Counters beside the loss table: what hardware (or the CPU machine) counted for each line of it.
#pragma once

#include <string>
#include <vector>

#include "compiler/report/report.h"

namespace tilec {

/// A counter that is asked for, and the line of the loss table that it stands behind.
struct CounterRow {
  std::string_view metric;  // of ncu, or a path of tilec.run/1's `counters`
  std::string_view title;   // with its unit
  std::optional<Loss> behind;
};
const std::vector<CounterRow>& hardware_counters();
const std::vector<CounterRow>& machine_counters();  // of the CPU machine

struct Counted {
  std::string metric;
  std::string title;
  std::optional<Loss> behind;
  double value = 0;
};

struct Profile {
  const Report& report;
  bool hardware = false;
  std::string source;  // "ncu on NVIDIA H200", or of what run on the CPU
  std::vector<Counted> counters;
  // On a GPU; 0: not known.
  double issue_rate = 0;  // instructions a cycle and scheduler
  double fma_share = 0;   // of executed warp instructions
  double measured_share_of_peak = 0;
  double clock_mhz = 0;
};

std::string profile_text(const Profile& profile);
std::string profile_json(const Profile& profile);  // schema "tilec.profile/1"

}  // namespace tilec
