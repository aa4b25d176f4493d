// The loss table for people.
#include <fmt/format.h>

#include <cmath>

#include "compiler/report/text.h"

namespace tilec {
namespace {

constexpr int kTitleWidth = 23;
constexpr double kShown = 0.05;  // points; less is nothing

}  // namespace

std::string prediction_text(const Prediction& prediction) {
  const dsl::GemmShape& shape = prediction.shape;
  std::string out =
      fmt::format("\nShare of peak at {}x{}x{}, predicted for {} ({} SMs, {:.0f} MHz)\n\n", shape.m,
                  shape.n, shape.k, prediction.device, prediction.sms, prediction.clock_mhz);
  std::vector<double> points;
  for (const LossRow& row : prediction.losses) points.push_back(row.points);
  const double share = std::round(1000 * prediction.share_of_peak) / 10;
  points = rounded_parts(points, 100 - share);
  out += fmt::format("  {:<{}} {:>7.1f}\n", "peak", kTitleWidth, 100.0);
  for (size_t i = 0; i < points.size(); ++i) {
    if (std::abs(points[i]) < kShown) continue;
    const LossRow& row = prediction.losses[i];
    out += fmt::format("  {:<{}} {:>+7.1f}   {}\n", loss_title(row.kind), kTitleWidth, -points[i],
                       loss_clause(row.kind));
  }
  out += fmt::format("  {:<{}} {:>7.1f}   {:.1f} us, {:.2f} waves of blocks\n", "share of peak",
                     kTitleWidth, share, prediction.kernel_us, prediction.waves);
  const Utilisation& use = prediction.use;
  out += fmt::format(
      "\n  Steady loop of a full SM: {:.1f} % of peak, {:.0f} cycles a slice of its {} block{}.\n"
      "  Taken: issue slots {:.0f} %, register banks {:.0f} %, shared memory {:.0f} %, road to "
      "the\n"
      "  second-level cache {:.0f} %. It waits for: {}.\n",
      100 * prediction.loop_share, prediction.cycles_per_slice, prediction.blocks_per_sm,
      prediction.blocks_per_sm == 1 ? "" : "s", 100 * use.issue, 100 * use.banks, 100 * use.shared,
      100 * use.road, prediction.critical);
  return out;
}

}  // namespace tilec
