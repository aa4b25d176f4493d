// One shape's search: candidates compiled on all cores, run isolated, remembered one by one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/artifact.h"
#include "dsl/ast.h"
#include "dsl/error.h"
#include "runtime/device.h"
#include "runtime/problem.h"
#include "runtime/tuned.h"

namespace tilec {

struct SearchOptions {
  std::string device;  // as take_device knows it
  size_t most = 256;   // candidates that the model leaves
  int shard = 0;       // of `shards`: every shards-th candidate from this one on
  int shards = 1;
  bool again = false;   // run also what the file has already
  double seconds = 30;  // for one candidate
};

struct SearchResult {
  GemmProblem problem;  // completed
  int64_t members = 0;  // of the space
  int64_t refused = 0;  // by the rules
  int candidates = 0;   // of this shard
  int known = 0;        // from an earlier run
  int run = 0;
  int failed = 0;  // of those run: not right, or not run to the end
  bool stopped = false;
  std::vector<TuningRow> rows;  // fastest first, of this key, all that the file has and that are ok
};

/// Whether the user pressed Ctrl-C since the search began; set up by the first call.
bool is_interrupted();

/// Errors: those of find_candidates, of the file and of run_isolated. Candidates that fail are rows
/// of the file, not errors.
dsl::Result<SearchResult> search(const std::vector<dsl::SpecAst>& space, const GemmProblem& problem,
                                 const DeviceInfo& device, const std::string& version,
                                 TuningFile& file, const SearchOptions& options);

}  // namespace tilec
