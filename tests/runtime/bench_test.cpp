#include "runtime/bench.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/device_operands.h"
#include "runtime/rival.h"

namespace tilec {
namespace {

TEST(Bench, Median) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 9, 2}), 3);
}

TEST(Bench, RotatesOverMoreThanTwoCaches) {
  const struct {
    int64_t bytes, l2;
    int64_t sets;
  } rows[] = {{768 << 10, 50 << 20, 134}, {60 << 20, 50 << 20, 2}, {100 << 20, 50 << 20, 2},
              {101 << 20, 50 << 20, 1},   {12, 50 << 20, 4096},    {1 << 20, 0, 1}};
  for (const auto& row : rows) {
    const int64_t sets = sets_to_rotate(row.bytes, row.l2, 2);
    EXPECT_EQ(sets, row.sets);
    if (sets < 4096) {
      EXPECT_GT(sets * row.bytes, row.l2 == 0 ? 0 : 2 * row.l2);
    }
  }
}

TEST(Bench, ShareOfPeak) {
  DeviceInfo h200;
  h200.sm_count = 132;
  h200.lanes_per_sm = 128;
  // 51.4 TFLOP/s of 66.9 (the table of measurements says 76.9 %).
  EXPECT_NEAR(share_of_peak({4096, 4096, 4096}, 2674, h200, 1980), 0.768, 0.001);
  EXPECT_EQ(share_of_peak({4096, 4096, 4096}, 2674, h200, 0), 0);
  EXPECT_EQ(share_of_peak({4096, 4096, 4096}, 2674, DeviceInfo{}, 1980), 0);
}

// A device without arithmetic: remembers what was recorded, and gives out planned times.
class Clockwork final : public Device, public Stopwatch {
 public:
  Clockwork() {
    info_.kind = DeviceKind::gpu;
    info_.l2_bytes = 1 << 20;
    info_.cublas = "13.1.0";
    info_.sm_count = 100;
    info_.lanes_per_sm = 100;
  }
  const DeviceInfo& info() const override { return info_; }
  Result<Address> allocate(int64_t bytes) override {
    live_ += 1;
    next_ += static_cast<Address>(bytes);
    return next_;
  }
  Result<void> free(Address) override {
    live_ -= 1;
    return {};
  }
  Result<void> upload(Address, std::span<const std::byte>) override { return {}; }
  Result<void> download(std::span<std::byte>, Address) override { return {}; }
  Result<void> fill(Address, uint32_t, int64_t) override { return {}; }
  Result<KernelId> load(const Artifact&) override { return KernelId{1}; }
  Result<void> launch(KernelId, const KernelArguments&) override { return {}; }
  Result<void> synchronise() override { return {}; }
  Result<void> unload(KernelId) override { return {}; }
  Result<void> cublas(dsl::OperandLayout, dsl::Batch, const KernelArguments&) override {
    return {};
  }
  Stopwatch* stopwatch() override { return this; }

  Result<SequenceId> record(KernelId, std::span<const KernelArguments> launches) override {
    return keep('k', launches);
  }
  Result<int> cublaslt_algorithms(dsl::OperandLayout, dsl::Batch, const KernelArguments&) override {
    return static_cast<int>(algorithm_us_.size());
  }
  // 'c' is cublasSgemm, '1' the first of cublasLt.
  Result<SequenceId> record_cublas(CublasWay way, dsl::OperandLayout, dsl::Batch,
                                   std::span<const KernelArguments> launches) override {
    return keep(way == kCublasSgemm ? 'c' : static_cast<char>('0' + way), launches);
  }
  Result<BurstTime> play(SequenceId id, int) override {
    const char side = sides_[id];
    played_.push_back(side);
    ++plays_;
    // Every fifth burst is disturbed; the median must not care. cublasLt's are not: each is chosen
    // or passed over by one burst.
    const double disturbed = plays_ % 5 == 0 ? 10 : 1;
    const double us = side == 'k'   ? 8 * disturbed
                      : side == 'c' ? 4 * disturbed
                                    : algorithm_us_[static_cast<size_t>(side - '1')];
    return BurstTime{us, plays_ % 3 == 0 ? 0.0 : 1000.0, 300};
  }
  void forget(SequenceId id) override { sides_.erase(id); }

  Result<SequenceId> keep(char side, std::span<const KernelArguments> launches) {
    const auto id = static_cast<SequenceId>(next_id_++);
    sides_[id] = side;
    longest_ = std::vector<KernelArguments>(launches.begin(), launches.end());
    return id;
  }

  DeviceInfo info_;
  std::vector<double> algorithm_us_;  // of cublasLt
  int live_ = 0;
  Address next_ = 0;
  int next_id_ = 1;
  int plays_ = 0;
  std::map<SequenceId, char> sides_;
  std::string played_;
  std::vector<KernelArguments> longest_;
};

TEST(Bench, PlaysTurnByTurnOverRotatingOperands) {
  Clockwork device;
  const GemmProblem problem = *complete({.shape = {128, 128, 128}});
  const Operands operands = make_operands(problem, false, false);
  const BenchOptions options{.burst_ms = 1, .bursts = 7, .warm_up_ms = 0.1};
  const auto result = bench_gemm(device, KernelId{1}, problem, {&operands, 1}, 0, options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->operand_sets, 11);  // 192 KiB each, 2 MiB to pass
  EXPECT_EQ(result->launches_a_burst % 11, 0);
  EXPECT_GE(static_cast<double>(result->launches_a_burst) * 8, 1000);
  EXPECT_EQ(result->kernel.median_us, 8);
  EXPECT_EQ(result->cublas->median_us, 4);
  EXPECT_EQ(result->kernel.slowest_us, 80);
  EXPECT_EQ(result->ratio, 0.5);
  EXPECT_EQ(result->cublas_way, "cublasSgemm");
  EXPECT_EQ(result->cublas_sgemm_us, 4);
  EXPECT_EQ(result->cublaslt_us, 0);
  EXPECT_EQ(result->kernel.clock_mhz, 1000);
  EXPECT_NEAR(result->tflops, 2 * 128.0 * 128 * 128 / 8e-6 / 1e12, 1e-9);
  EXPECT_NEAR(result->share_of_peak, 2 * 128.0 * 128 * 128 / 8e-6 / (100.0 * 100 * 2 * 1e9), 1e-9);
  EXPECT_EQ(device.played_.substr(device.played_.size() - 14), "kckckckckckckc");
  for (size_t i = 0; i < 11; ++i)
    for (size_t j = i + 1; j < 11; ++j) EXPECT_NE(device.longest_[i].c, device.longest_[j].c);
  EXPECT_EQ(device.longest_[0].c, device.longest_[11].c);
  EXPECT_EQ(device.live_, 0);
  EXPECT_TRUE(device.sides_.empty());
}

// The rival is the faster of cublasSgemm and the fastest of cublasLt's list.
TEST(Bench, TheRivalIsTheFastestOfCublas) {
  const struct {
    std::vector<double> algorithms;  // us
    const char* way;
    double cublas_us, lt_us;
  } rows[] = {{{6, 60, 2}, "cublasLt, 3rd of 3", 2, 2},
              {{6, 60, 5}, "cublasSgemm", 4, 5},
              {{3, 60}, "cublasLt, 1st of 2", 3, 3}};
  for (const auto& row : rows) {
    Clockwork device;
    device.algorithm_us_ = row.algorithms;
    const GemmProblem problem = *complete({.shape = {128, 128, 128}});
    const Operands operands = make_operands(problem, false, false);
    const BenchOptions options{.burst_ms = 1, .bursts = 7, .warm_up_ms = 0.1};
    const auto result = bench_gemm(device, KernelId{1}, problem, {&operands, 1}, 0, options);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->cublas_way, row.way);
    EXPECT_EQ(result->cublas->median_us, row.cublas_us);
    EXPECT_EQ(result->cublas_sgemm_us, 4);
    EXPECT_EQ(result->cublaslt_us, row.lt_us);
    EXPECT_EQ(result->ratio, row.cublas_us / 8);
    const std::string turns = device.played_.substr(device.played_.size() - 6);
    EXPECT_EQ(turns.substr(0, 3), turns.substr(3));
    EXPECT_EQ(turns.substr(0, 2), "kc");
    EXPECT_TRUE(device.sides_.empty());
  }
}

// Where a launch takes long, only the first few of a list are tried.
TEST(Bench, DoesNotTryLongListsOfLongLaunches) {
  Clockwork device;
  device.algorithm_us_ = {9e4, 8e4, 7e4, 6e4, 5e4, 4e4};
  const GemmProblem problem = *complete({.shape = {128, 128, 128}});
  const Operands operands = make_operands(problem, false, false);
  const auto result =
      bench_gemm(device, KernelId{1}, problem, {&operands, 1}, 0, {.burst_ms = 1, .bursts = 3});
  ASSERT_TRUE(result);
  EXPECT_EQ(device.played_.find('5'), std::string::npos);
  EXPECT_NE(device.played_.find('4'), std::string::npos);
}

TEST(Rival, SaysItsPlaceInTheList) {
  EXPECT_EQ(to_string(LtChoice{1, 8}), "cublasLt, 1st of 8");
  EXPECT_EQ(to_string(LtChoice{2, 2}), "cublasLt, 2nd of 2");
  EXPECT_EQ(to_string(LtChoice{4, 8}), "cublasLt, 4th of 8");
  EXPECT_EQ(to_string(LtChoice{11, 16}), "cublasLt, 11th of 16");
  EXPECT_EQ(to_string(LtChoice{13, 16}), "cublasLt, 13th of 16");
  EXPECT_EQ(to_string(LtChoice{22, 30}), "cublasLt, 22nd of 30");
}

TEST(Bench, WithoutCublasOnlyTheKernelIsTimed) {
  Clockwork device;
  device.info_.cublas.clear();
  const GemmProblem problem = *complete({.shape = {128, 128, 128}});
  const Operands operands = make_operands(problem, false, false);
  const auto result =
      bench_gemm(device, KernelId{1}, problem, {&operands, 1}, 0, {.warm_up_ms = 0.1});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->cublas);
  EXPECT_EQ(result->ratio, 0);
  EXPECT_EQ(device.played_.find('c'), std::string::npos);
}

}  // namespace
}  // namespace tilec
