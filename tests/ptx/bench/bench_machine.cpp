// How fast the PTX machine runs a GEMM kernel of the compiler's shape: warp instructions a second
// and core. Not part of the tests. usage: bench_machine FILE.ptx BM BN SHARED_BYTES THREADS N
// [HOST]
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "runtime/ptx/machine.h"

using namespace tilec;

namespace {

// Of all threads of this process: what a core gives, whoever else uses the machine.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec) * 1e-6;
}

}  // namespace

int main(int count, char** words) {
  if (count < 7) return 2;
  std::ifstream file(words[1]);
  const dsl::Source source{words[1], {std::istreambuf_iterator<char>(file), {}}};
  const auto parse_begin = std::chrono::steady_clock::now();
  auto module = ptx::parse(source);
  const auto parse_end = std::chrono::steady_clock::now();
  if (!module) {
    fmt::print("{}\n", dsl::render(module.error()));
    return 1;
  }
  fmt::print("parsed in {:.1f} ms\n",
             std::chrono::duration<double, std::milli>(parse_end - parse_begin).count());
  const int tile_m = std::atoi(words[2]), tile_n = std::atoi(words[3]), n = std::atoi(words[6]);
  const auto size = static_cast<size_t>(n) * static_cast<size_t>(n);
  std::vector<float> a(size), b(size), c(size);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& x : a) x = uniform(random);
  for (float& x : b) x = uniform(random);
  for (ptx::Checks checks : {ptx::Checks::bounds, ptx::Checks::all}) {
    ptx::Memory memory;
    const auto bytes = static_cast<int64_t>(size * 4);
    const uint64_t pa = *memory.allocate(bytes), pb = *memory.allocate(bytes),
                   pc = *memory.allocate(bytes);
    (void)memory.write(pa, std::as_bytes(std::span(a)));
    (void)memory.write(pb, std::as_bytes(std::span(b)));
    ptx::LaunchConfig config;
    config.grid = {static_cast<uint32_t>(n / tile_n), static_cast<uint32_t>(n / tile_m), 1};
    config.block = {static_cast<uint32_t>(std::atoi(words[5])), 1, 1};
    config.dynamic_shared_bytes = std::atoi(words[4]);
    config.checks = checks;
    config.threads = count > 7 ? std::atoi(words[7]) : 1;
    const auto side = static_cast<uint32_t>(n);
    const ptx::Argument arguments[] = {pa, pb, pc, side, side, side, 1.0f};
    const double cpu_begin = cpu_seconds();
    const auto begin = std::chrono::steady_clock::now();
    auto result = ptx::launch(*module, module->entries()[0], config, arguments, memory);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double cpu = cpu_seconds() - cpu_begin;
    if (!result) {
      fmt::print("{}\n", dsl::render(result.error()));
      return 1;
    }
    for (const ptx::Finding& finding : result->findings) fmt::print("{}\n", describe(finding));
    (void)memory.read(pc, std::as_writable_bytes(std::span(c)));
    double worst = 0;
    for (int sample = 0; sample < 1000; ++sample) {
      const size_t i = random() % static_cast<size_t>(n), j = random() % static_cast<size_t>(n);
      double exact = 0;
      for (size_t k = 0; k < static_cast<size_t>(n); ++k)
        exact += static_cast<double>(a[i * static_cast<size_t>(n) + k]) *
                 b[k * static_cast<size_t>(n) + j];
      worst = std::max(worst, std::abs(exact - c[i * static_cast<size_t>(n) + j]));
    }
    const ptx::Counts& total = result->counters.total;
    fmt::print(
        "{}: {:.3f} s, {} warp instructions, {:.1f} M/s of CPU time, fma share {:.3f}, "
        "sectors/request "
        "{:.2f}, "
        "wavefronts/load {:.2f}, conflicts {}, worst error {:.2g}\n",
        checks == ptx::Checks::all ? "all checks" : "bounds", seconds, total.warp_instructions,
        static_cast<double>(total.warp_instructions) / cpu / 1e6, total.fma_share(),
        total.sectors_per_request(), total.wavefronts_per_shared_load(),
        total.shared_load.conflicts + total.shared_store.conflicts, worst);
  }
}
