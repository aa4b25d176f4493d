// How fast the PTX machine runs a matrix multiply: warp instructions a second of CPU time, with
// counters alone and with all checks. Not part of the tests.
//   bench_machine FILE.ptx ENTRY TILE_M TILE_N THREADS SHARED_BYTES N [HOST_THREADS]
// The entry's parameters are (n, a, b, c) or (a, b, c, m, n, k, lda, ldb, ldc, alpha, beta).
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "runtime/ptx/machine.h"

namespace tilec::ptx {
namespace {

struct Settings {
  std::string file, entry;
  uint32_t tile_m = 0, tile_n = 0, threads = 0;
  int64_t shared_bytes = 0;
  uint32_t n = 0;
  int host_threads = 1;
};

// Of all threads of this process: what a core gives, whoever else uses the machine.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec) * 1e-6;
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double worst_error(const std::vector<float>& a, const std::vector<float>& b,
                   const std::vector<float>& c, size_t n) {
  std::mt19937 random(2);
  double worst = 0;
  for (int sample = 0; sample < 1000; ++sample) {
    const size_t i = random() % n, j = random() % n;
    double exact = 0;
    for (size_t k = 0; k < n; ++k) exact += static_cast<double>(a[i * n + k]) * b[k * n + j];
    const double error = std::abs(exact - c[i * n + j]);
    if (!(error <= worst)) worst = error;  // NaN too
    if (std::isnan(worst)) break;
  }
  return worst;
}

int run(const Module& module, const Settings& settings, Checks checks) {
  const size_t size = size_t{settings.n} * settings.n;
  std::vector<float> a(size), b(size), c(size);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& x : a) x = uniform(random);
  for (float& x : b) x = uniform(random);
  Memory memory;
  const auto bytes = static_cast<int64_t>(size * 4);
  const uint64_t at_a = *memory.allocate(bytes), at_b = *memory.allocate(bytes),
                 at_c = *memory.allocate(bytes);
  (void)memory.write(at_a, std::as_bytes(std::span(a)));
  (void)memory.write(at_b, std::as_bytes(std::span(b)));
  LaunchConfig config;
  // The compiler's kernels deal the tiles out themselves, along x.
  const uint32_t across = settings.n / settings.tile_n, down = settings.n / settings.tile_m;
  const bool two_dimensional = module.parameters(settings.entry).size() == 4;
  config.grid = two_dimensional ? std::array{across, down, 1u} : std::array{across * down, 1u, 1u};
  config.block = {settings.threads, 1, 1};
  config.dynamic_shared_bytes = settings.shared_bytes;
  config.checks = checks;
  config.threads = settings.host_threads;
  const auto n = static_cast<int32_t>(settings.n);
  const uint64_t stride = settings.n;
  const std::vector<Argument> arguments =
      two_dimensional
          ? std::vector<Argument>{n, at_a, at_b, at_c}
          : std::vector<Argument>{at_a, at_b, at_c, n, n, n, stride, stride, stride, 1.0f, 0.0f};
  const double cpu_begin = cpu_seconds(), wall_begin = wall_seconds();
  const auto result = launch(module, settings.entry, config, arguments, memory);
  const double cpu = cpu_seconds() - cpu_begin, wall = wall_seconds() - wall_begin;
  if (!result) {
    fmt::print("{}\n", dsl::render(result.error()));
    return 1;
  }
  for (const Finding& finding : result->findings) fmt::print("{}\n", describe(finding));
  (void)memory.read(at_c, std::as_writable_bytes(std::span(c)));
  const Counts& total = result->counters.total;
  fmt::print(
      "{:10} {:6.2f} s {:6.1f} M warp instructions, {:5.1f} M a second of CPU; FMA share "
      "{:.3f}, sectors a request {:.2f}, wavefronts a shared load {:.2f}; error {:.1e}\n",
      checks == Checks::all ? "all checks" : "bounds", wall,
      static_cast<double>(total.warp_instructions) / 1e6,
      static_cast<double>(total.warp_instructions) / cpu / 1e6, total.fma_share(),
      total.sectors_per_request(), total.wavefronts_per_shared_load(),
      worst_error(a, b, c, settings.n));
  return 0;
}

}  // namespace
}  // namespace tilec::ptx

int main(int count, char** words) {
  using namespace tilec::ptx;
  if (count < 8) return 2;
  const auto number = [&](int i) { return static_cast<uint32_t>(std::atoi(words[i])); };
  const Settings settings{.file = words[1],
                          .entry = words[2],
                          .tile_m = number(3),
                          .tile_n = number(4),
                          .threads = number(5),
                          .shared_bytes = number(6),
                          .n = number(7),
                          .host_threads = count > 8 ? std::atoi(words[8]) : 1};
  std::ifstream file(settings.file);
  const tilec::dsl::Source source{settings.file, {std::istreambuf_iterator<char>(file), {}}};
  const double begin = wall_seconds();
  const auto module = parse(source);
  fmt::print("parsed in {:.1f} ms\n", (wall_seconds() - begin) * 1e3);
  if (!module) {
    fmt::print("{}\n", tilec::dsl::render(module.error()));
    return 1;
  }
  return run(*module, settings, Checks::bounds) + run(*module, settings, Checks::all);
}
