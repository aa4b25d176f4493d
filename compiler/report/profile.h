// Counters beside the loss table: what hardware (or the CPU machine) counted for each line of it.
#pragma once

#include <string>
#include <vector>

#include "compiler/report/report.h"

namespace tilec {

/// A counter that is asked for, and the line of the loss table that it stands behind.
struct CounterRow {
  std::string_view metric;  // of ncu, or a path of tilec.run/1's `counters`
  std::string_view title;
  std::optional<Loss> behind;
  std::string_view unit = "";  // "%", "B", "ns"; empty: a number or a ratio
};
const std::vector<CounterRow>& hardware_counters();
const std::vector<CounterRow>& machine_counters();  // of the CPU machine

struct Counted {
  std::string metric;
  std::string title;
  std::optional<Loss> behind;
  double value = 0;
  std::string unit;
};

/// A figure of the report, and the same one as it was counted or measured.
struct Beside {
  std::string figure;  // the key in JSON
  std::string title;
  double predicted = 0;
  double counted = 0;
  bool exact = false;  // a count: both sides should be equal
  std::string unit;
  double difference() const { return predicted - counted; }
};

struct Profile {
  const Report& report;
  bool hardware = false;
  std::string source;  // "ncu on NVIDIA H200", or of what run on the CPU
  std::vector<Counted> counters;
  // On a GPU; 0: not known.
  int blocks_per_sm = 0;  // as the driver says
  double issue_rate = 0;  // instructions a cycle and scheduler
  double fma_share = 0;   // of executed warp instructions
  double measured_share_of_peak = 0;
  double clock_mhz = 0;
};

/// What is known of both sides; only hardware's counters stand beside SASS.
std::vector<Beside> set_beside(const Profile& profile);

/// "335.6 M" for 335626240 and "" , "79.9 %", "396.5 MB", "2449.2 us" for 2449248 "ns".
std::string with_unit(double value, std::string_view unit);

std::string profile_text(const Profile& profile);
std::string profile_json(const Profile& profile);  // schema "tilec.profile/1"

}  // namespace tilec
