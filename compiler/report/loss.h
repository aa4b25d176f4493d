// Where the share of peak goes: the rows of the loss table.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tilec {

enum class Loss {
  fragment_loads,  // their issue slots, and waits for their data or for shared memory
  register_banks,  // multiply-adds that wait for an operand from a bank that is taken
  slice_copies,    // issue slots, and waits for global memory or for the copy's stores
  addresses,       // issue slots of integer arithmetic
  barriers,        // issue slots of barriers and waits, and what is waited there
  other,           // issue slots of moves, control, spills and the rest
  idle,            // nothing can issue: stalls of fixed length, pipes that are taken
  block_ends,      // before the steady loop and after it; the launch
  last_wave,       // SMs that have run out of blocks
  edges,           // slices, rows and columns beyond the shape, and guards
  memory,          // DRAM cannot deliver faster
};
inline constexpr size_t kLosses = 11;

std::string_view loss_name(Loss kind);    // the key in JSON
std::string_view loss_figure(Loss kind);  // "loss_" and that key: points, for budgets
std::string_view loss_title(Loss kind);   // for people
std::string_view loss_clause(Loss kind);  // the clause that would move it

/// One amount a loss.
struct Losses {
  std::array<double, kLosses> of{};
  double& operator[](Loss kind) { return of[static_cast<size_t>(kind)]; }
  double operator[](Loss kind) const { return of[static_cast<size_t>(kind)]; }
  double total() const {
    double sum = 0;
    for (const double amount : of) sum += amount;
    return sum;
  }
};

}  // namespace tilec
