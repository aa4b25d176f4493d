// What tuning found, in an SQLite file: a row for each spec that was tried at a shape on a machine.
//
// The key is everything that a time depends on: device, driver, tilec's own version, shape, batch,
// layout, alignment, spec. A row measured elsewhere is kept but never used here, and that is said.
// A file that is damaged is moved aside and a new one begun; a file that is no tuning file at all
// is left alone and refused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/error.h"

namespace tilec {

using dsl::Result;

/// Where a time was measured, and of what.
struct TuningKey {
  std::string device;   // "NVIDIA H200"
  std::string driver;   // "580.159.04"; empty on the CPU
  std::string version;  // of tilec and of the assembler
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  std::string layout;     // "nn"
  std::string alignment;  // elements that rows of A, B and C start on a multiple of: "4,4,4"
  bool operator==(const TuningKey&) const = default;
};

struct TuningRow {
  TuningKey key;
  std::string spec;    // completed
  std::string status;  // "ok", or why the spec was left out: "wrong", "refused", "crashed", ...
  double us = 0;       // median of the launches; on the CPU warp instructions / 1000
  double clock_mhz = 0;
  std::string message;   // of a status that is not "ok"
  std::string measured;  // 2026-11-29T22:00:00Z
};

class TuningFile {
 public:
  /// Opens or makes `path`. `said`, if not null, is told what happened to a damaged file.
  /// Errors: user, "foreign-tuning-file" (another kind of file, or of a later tilec), or machine,
  /// "tuning-file" with SQLite's words.
  static Result<TuningFile> open(const std::string& path, std::string* said);
  TuningFile(TuningFile&&) noexcept;
  TuningFile& operator=(TuningFile&&) noexcept;
  ~TuningFile();

  /// Written at once; a row of the same key and spec is replaced unless it is newer.
  Result<void> put(const TuningRow& row);
  /// Specs that were tried at this key.
  Result<std::vector<TuningRow>> rows(const TuningKey& key) const;
  Result<std::vector<TuningRow>> all() const;
  /// The fastest that was right; none if there is none for this very key.
  Result<std::optional<TuningRow>> best(const TuningKey& key) const;
  /// Other machines that the file has rows of this shape from: "NVIDIA A100, driver 570.1".
  Result<std::vector<std::string>> others(const TuningKey& key) const;

 private:
  struct Database;
  explicit TuningFile(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

}  // namespace tilec
