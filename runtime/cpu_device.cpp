#include "runtime/cpu_device.h"

#include <functional>
#include <map>
#include <vector>

#include "runtime/faults.h"
#include "runtime/launches.h"
#include "runtime/try.h"

namespace tilec {
namespace {

struct LoadedKernel {
  ptx::Module module;
  KernelCode code;
};

// Counts of several launches, line by line.
void add_lines(std::vector<ptx::LineCounts>& to, const std::vector<ptx::LineCounts>& from) {
  std::map<std::pair<std::string, int>, ptx::Counts> lines;
  for (const auto& part : {std::cref(to), std::cref(from)})
    for (const ptx::LineCounts& line : part.get()) lines[{line.file, line.line}].add(line.counts);
  to.clear();
  for (const auto& [place, counts] : lines) to.push_back({place.second, place.first, counts});
}

void add(ptx::Counters& to, const ptx::Counters& from) {
  to.total.add(from.total);
  add_lines(to.by_ptx_line, from.by_ptx_line);
  add_lines(to.by_tile_line, from.by_tile_line);
  to.blocks += from.blocks;
  to.warps += from.warps;
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuOptions& options) : options_(options) {
    info_.kind = DeviceKind::cpu;
    info_.name = "CPU, executing PTX";
    info_.knows_bounds = true;
    info_.sm_count = options.sm_count;
  }

  const DeviceInfo& info() const override { return info_; }

  Result<Address> allocate(int64_t bytes) override {
    return memory_.allocate(std::max<int64_t>(1, bytes));
  }
  Result<void> free(Address address) override { return memory_.free(address); }
  Result<void> upload(Address to, std::span<const std::byte> from) override {
    return memory_.write(to, from);
  }
  Result<void> download(std::span<std::byte> to, Address from) override {
    return memory_.read(from, to);
  }
  Result<void> fill(Address to, uint32_t word, int64_t words) override {
    const std::vector<uint32_t> all(static_cast<size_t>(words), word);
    return memory_.write(to, std::as_bytes(std::span(all)));
  }

  Result<KernelId> load(const Artifact& artifact) override {
    Result<ptx::Module> module = ptx::parse({artifact.spec.name + ".ptx", artifact.ptx});
    if (!module) return tl::unexpected(std::move(module.error()));
    const auto id = static_cast<KernelId>(next_id_++);
    kernels_.emplace(id, LoadedKernel{std::move(*module), code_of(artifact)});
    return id;
  }

  Result<void> launch(KernelId kernel, const KernelArguments& arguments) override;
  Result<void> launch_one(const LoadedKernel& loaded, const Launch& launch);
  Result<void> synchronise() override { return {}; }
  Result<void> unload(KernelId kernel) override {
    kernels_.erase(kernel);
    return {};
  }
  Result<void> cublas(dsl::OperandLayout, dsl::Batch, const KernelArguments&) override {
    return refuse(Fault::no_cublas, "cuBLAS runs on a GPU only");
  }
  std::optional<Counters> counters() const override { return counters_; }
  const ptx::Counters* counted() const override { return counters_ ? &counted_ : nullptr; }

 private:
  CpuOptions options_;
  DeviceInfo info_;
  ptx::Memory memory_;
  std::map<KernelId, LoadedKernel> kernels_;
  int next_id_ = 1;
  std::optional<Counters> counters_;
  ptx::Counters counted_;
};

Counters summary_of(const ptx::Counters& counters) {
  const ptx::Counts& total = counters.total;
  return {.warp_instructions = static_cast<int64_t>(total.warp_instructions),
          .fma = static_cast<int64_t>(total.fma),
          .fma_share = total.fma_share(),
          .sectors_per_request = total.sectors_per_request(),
          .wavefronts_per_shared_load = total.wavefronts_per_shared_load(),
          .bank_conflicts =
              static_cast<int64_t>(total.shared_load.conflicts + total.shared_store.conflicts),
          .blocks = static_cast<int64_t>(counters.blocks),
          .barriers = static_cast<int64_t>(total.barriers)};
}

Result<void> CpuDevice::launch(KernelId kernel, const KernelArguments& arguments) {
  counters_ = std::nullopt;
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end())
    return tl::unexpected(dsl::Error::internal("launch of a kernel that was never loaded"));
  const LoadedKernel& loaded = found->second;
  Result<std::vector<Launch>> launches = plan_launches(loaded.code, arguments, info_.sm_count);
  if (!launches) return tl::unexpected(std::move(launches.error()));
  counted_ = {};
  for (const Launch& next : *launches) TILEC_TRY(launch_one(loaded, next));
  counters_ = launches->empty() ? Counters{} : summary_of(counted_);
  return {};
}

Result<void> CpuDevice::launch_one(const LoadedKernel& loaded, const Launch& launch) {
  const Entry& entry = loaded.code.entries[launch.entry];
  ptx::LaunchConfig config;
  config.grid = launch.grid;
  config.block[0] = static_cast<uint32_t>(entry.threads);
  config.dynamic_shared_bytes = entry.shared_bytes;
  config.checks = options_.checks;
  config.counters = options_.counters;
  config.threads = options_.threads;
  std::vector<ptx::Argument> list;
  for (const Parameter& parameter : launch.parameters)
    std::visit([&](auto value) { list.emplace_back(value); }, parameter);
  Result<ptx::LaunchResult> result = ptx::launch(loaded.module, entry.name, config, list, memory_);
  if (!result) return tl::unexpected(std::move(result.error()));
  if (!result->clean()) return tl::unexpected(ptx::to_error(loaded.module, *result));
  add(counted_, result->counters);
  return {};
}

}  // namespace

std::unique_ptr<Device> open_cpu(const CpuOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace tilec
