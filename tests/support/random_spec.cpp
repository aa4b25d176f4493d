#include "tests/support/random_spec.h"

#include <fmt/format.h>

#include <array>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace tilec::test {
namespace {

using Words = std::span<const std::string_view>;

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15u + 1) {}
  int below(int count) { return static_cast<int>(engine_() % static_cast<uint64_t>(count)); }
  int between(int least, int most) { return least + below(most - least + 1); }
  bool chance(int percent) { return below(100) < percent; }
  int one_of(std::span<const int> values) { return values[index(values.size())]; }
  std::string_view one_of(Words words) { return words[index(words.size())]; }
  size_t index(size_t count) { return static_cast<size_t>(below(static_cast<int>(count))); }

 private:
  std::mt19937_64 engine_;  // its sequence is the same everywhere
};

// Builds tiles from the inside out, so that most divide each other, then may spoil one.
class Generator {
 public:
  explicit Generator(uint64_t seed) : dice_(seed) {}

  std::string run() {
    choose_tiles();
    if (dice_.chance(32)) spoil();
    write_tiles();
    write_copy();
    write_threads();
    write_shared();
    write_rest();
    shuffle();
    std::string out;
    for (const std::string& clause : clauses_) out += (out.empty() ? "" : " ") + clause;
    if (dice_.chance(5)) out = fmt::format("kernel k{} {{ {} }}", dice_.below(100), out);
    return out;
  }

 private:
  template <class... Values>
  void clause(fmt::format_string<Values...> form, Values&&... values) {
    clauses_.push_back(fmt::format(form, std::forward<Values>(values)...));
  }

  void choose_tiles() {
    static constexpr int kThread[] = {1, 1, 2, 2, 3, 4, 4, 4, 5, 8, 8};
    static constexpr int kK[] = {1, 2, 3, 4, 5, 8, 8, 8, 12, 16};
    static constexpr std::array<int, 2> kLanes[] = {{8, 4},  {4, 8},  {16, 2}, {2, 16},
                                                    {32, 1}, {1, 32}, {8, 4},  {4, 8}};
    static constexpr int kGrid[] = {1, 2, 3, 4, 4, 5, 8, 8, 16};
    thread_m_ = dice_.one_of(kThread);
    thread_n_ = dice_.one_of(kThread);
    k_ = dice_.one_of(kK);
    warp_ = dice_.chance(50);
    if (warp_) {
      const auto& lanes = kLanes[dice_.index(std::size(kLanes))];
      lanes_m_ = lanes[0];
      lanes_n_ = lanes[1];
      tile_m_ = warp_m() * dice_.between(1, 2);
      tile_n_ = warp_n() * dice_.between(1, 2);
    } else {
      lanes_m_ = dice_.one_of(kGrid);
      lanes_n_ = dice_.one_of(kGrid);
      tile_m_ = warp_m();
      tile_n_ = warp_n();
    }
  }

  int warp_m() const { return lanes_m_ * thread_m_; }
  int warp_n() const { return lanes_n_ * thread_n_; }

  void spoil() {
    int* const numbers[] = {&tile_m_, &tile_n_, &lanes_m_, &lanes_n_, &thread_m_, &thread_n_};
    int& number = *numbers[dice_.index(std::size(numbers))];
    number = dice_.chance(50) ? number + 1 : number * dice_.between(2, 40);
  }

  void write_tiles() {
    if (k_ == 8 && dice_.chance(50)) {
      clause("tile {}x{}", tile_m_, tile_n_);
    } else {
      clause("tile {}x{}x{}", tile_m_, tile_n_, k_);
    }
    if (warp_) clause("warp {}x{}", warp_m(), warp_n());
    if (thread_m_ * thread_n_ > 1 || dice_.chance(30)) clause("thread {}x{}", thread_m_, thread_n_);
  }

  void write_copy() {
    static constexpr int kStages[] = {1, 1, 2, 2, 3, 3, 4, 5};
    static constexpr std::string_view kCopies[] = {"register", "async"};
    no_shared_ = dice_.chance(10);
    if (no_shared_) {
      clause("copy none");
      if (dice_.chance(20)) clause("stages {}", dice_.chance(50) ? 1 : 2);
      return;
    }
    if (dice_.chance(70)) clause("stages {}", dice_.one_of(kStages));
    if (dice_.chance(40)) clause("copy {}", dice_.one_of(kCopies));
  }

  void write_threads() {
    static constexpr std::string_view kOrders[] = {"rows", "columns"};
    static constexpr std::string_view kFragments[] = {"whole", "split"};
    static constexpr int kVectors[] = {1, 1, 2, 4, 4};
    if (dice_.chance(30)) {
      if (dice_.chance(70)) {
        clause("lanes {}", dice_.one_of(kOrders));
      } else {
        clause("lanes {} {}x{}", dice_.one_of(kOrders), lanes_m_, lanes_n_);
      }
    }
    if (dice_.chance(25) && !no_shared_) clause("fragment {}", dice_.one_of(kFragments));
    if (!dice_.chance(35)) return;
    std::string_view bound = dice_.chance(60) ? "at_most " : "";
    if (dice_.chance(50)) {
      clause("vector {}{}", bound, dice_.one_of(kVectors));
    } else {
      clause("vector global {}{} shared {}{}", bound, dice_.one_of(kVectors), bound,
             no_shared_ ? 1 : dice_.one_of(kVectors));
    }
  }

  std::string layout() {
    static constexpr std::string_view kOrientations[] = {"plain", "transposed"};
    static constexpr int kPaddings[] = {0, 1, 2, 4, 4, 8};
    std::string out;
    if (dice_.chance(60)) out += fmt::format(" {}", dice_.one_of(kOrientations));
    if (dice_.chance(40)) {
      out += fmt::format(" padded {}", dice_.one_of(kPaddings));
    } else if (out.empty() || dice_.chance(25)) {
      out += " swizzled";
    }
    return out;
  }

  void write_shared() {
    if (no_shared_ ? !dice_.chance(5) : !dice_.chance(35)) return;
    switch (dice_.below(4)) {
      case 0:
        return clause("shared{}", layout());
      case 1:
        return clause("shared a{}", layout());
      case 2:
        return clause("shared b{}", layout());
      default:
        return clause("shared a{} b{}", layout(), layout());
    }
  }

  void write_rest() {
    static constexpr std::string_view kRasters[] = {"rows", "columns", "swizzle 2", "swizzle 3"};
    static constexpr std::string_view kLayouts[] = {"nn", "nt", "tn", "tt"};
    static constexpr std::string_view kEpilogues[] = {
        "acc",     "alpha*acc",  "alpha*acc + beta*c",
        "c - acc", "-alpha*acc", "0.5*(acc + beta*c)",
        "acc + 1", "2*acc - -c", "beta*(c + c)*alpha - acc"};
    static constexpr std::string_view kTargets[] = {"sm_80", "sm_86", "sm_90a", "sm_120a"};
    static constexpr int kRegisters[] = {32, 64, 96, 128, 255};
    if (dice_.chance(10)) clause("blocks_per_sm {}", dice_.between(1, 5));
    if (dice_.chance(10)) clause("registers {}", dice_.one_of(kRegisters));
    if (dice_.chance(25)) clause("raster {}", dice_.one_of(kRasters));
    if (dice_.chance(60)) clause("layout {}", dice_.one_of(kLayouts));
    if (dice_.chance(35)) clause("epilogue {}", dice_.one_of(kEpilogues));
    if (dice_.chance(15)) clause("edges {}", dice_.chance(60) ? "guard" : "exact");
    if (dice_.chance(10)) clause("target {}", dice_.one_of(kTargets));
    if (dice_.chance(5)) clause("type f32 accumulate f32 output f32");
    if (dice_.chance(10)) clause("persistent");
    if (dice_.chance(10)) clause("staged_store");
    if (dice_.chance(20)) {
      clause("split_k {}", dice_.between(1, 8));
    } else if (dice_.chance(15)) {
      clause("cluster 1x1x{}", dice_.between(1, 9));
      if (dice_.chance(10)) clause("split_k {}", dice_.between(1, 8));
    } else if (dice_.chance(15)) {
      clause("stream_k");
    }
    if (dice_.chance(1)) clause("stages {}", dice_.between(1, 3));
  }

  void shuffle() {
    for (size_t i = clauses_.size(); i > 1; --i)
      std::swap(clauses_[i - 1], clauses_[dice_.index(i)]);
  }

  Dice dice_;
  std::vector<std::string> clauses_;
  int tile_m_ = 1, tile_n_ = 1, k_ = 8;
  int thread_m_ = 1, thread_n_ = 1;
  int lanes_m_ = 1, lanes_n_ = 1;
  bool warp_ = false;
  bool no_shared_ = false;
};

// What a damaged spec may suddenly hold.
constexpr std::string_view kPieces[] = {"x",
                                        "{",
                                        "}",
                                        "..",
                                        "-1",
                                        "0",
                                        "1",
                                        "7",
                                        "64",
                                        "99999",
                                        "1e9",
                                        "#",
                                        "tile",
                                        "warp",
                                        "kernel",
                                        "shared",
                                        "a",
                                        "padded",
                                        "vector",
                                        "at_most",
                                        "stages",
                                        "async",
                                        "none",
                                        "(",
                                        ")",
                                        "acc",
                                        "*",
                                        "{1,2}",
                                        "{2..5}",
                                        "\xc3\xa9",
                                        " ",
                                        "\n",
                                        "mma",
                                        "lanes",
                                        "4x8",
                                        "swizzled",
                                        "18446744073709551616",
                                        "kernel x {",
                                        "\x01",
                                        "copy",
                                        "layout tt"};

}  // namespace

std::string random_spec(uint64_t seed) {
  return Generator(seed).run();
}

std::string mutated(const std::string& text, uint64_t seed) {
  Dice dice(seed);
  std::string out = text;
  for (int edits = dice.between(1, 3); edits > 0; --edits) {
    size_t at = dice.index(out.size() + 1);
    size_t length = std::min(out.size() - at, dice.index(8) + 1);
    switch (dice.below(8)) {
      case 0:
        out.insert(at, dice.one_of(kPieces));
        break;
      case 1:
        out.erase(at, length);
        break;
      case 2:
        out.insert(dice.index(out.size() + 1), out.substr(at, length));
        break;
      case 3:
        out.replace(at, length, dice.one_of(kPieces));
        break;
      case 4:
        if (at < out.size()) out[at] = static_cast<char>(dice.between(1, 255));
        break;
      default:
        // Another digit, so that some damage is only in the numbers.
        at = out.find_first_of("0123456789", at);
        if (at != std::string::npos) out[at] = static_cast<char>('0' + dice.below(10));
    }
  }
  return out;
}

}  // namespace tilec::test
