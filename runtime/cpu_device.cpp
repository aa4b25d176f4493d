#include "runtime/cpu_device.h"

#include <map>
#include <vector>

#include "dsl/shape.h"
#include "runtime/faults.h"
#include "runtime/try.h"

namespace tilec {
namespace {

struct LoadedKernel {
  ptx::Module module;
  dsl::Spec spec;            // its name is the entry
  int threads = 0;           // per block
  int64_t shared_bytes = 0;  // per block
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuOptions& options) : options_(options) {
    info_.kind = DeviceKind::cpu;
    info_.name = "CPU, executing PTX";
    info_.knows_bounds = true;
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
    kernels_.emplace(id, LoadedKernel{std::move(*module), artifact.spec, artifact.derived.threads,
                                      artifact.derived.shared_bytes});
    return id;
  }

  Result<void> launch(KernelId kernel, const KernelArguments& arguments) override;
  Result<void> synchronise() override { return {}; }
  Result<void> unload(KernelId kernel) override {
    kernels_.erase(kernel);
    return {};
  }
  Result<void> cublas(dsl::OperandLayout, const KernelArguments&) override {
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
  Result<int64_t> blocks = dsl::grid_blocks(loaded.spec, {arguments.m, arguments.n, arguments.k});
  if (!blocks) return tl::unexpected(std::move(blocks.error()));
  counters_ = Counters{};
  counted_ = {};
  if (*blocks == 0) return {};
  ptx::LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(*blocks);
  config.block[0] = static_cast<uint32_t>(loaded.threads);
  config.dynamic_shared_bytes = loaded.shared_bytes;
  config.checks = options_.checks;
  config.counters = options_.counters;
  config.threads = options_.threads;
  const ptx::Argument list[] = {arguments.a,
                                arguments.b,
                                arguments.c,
                                static_cast<int32_t>(arguments.m),
                                static_cast<int32_t>(arguments.n),
                                static_cast<int32_t>(arguments.k),
                                arguments.lda,
                                arguments.ldb,
                                arguments.ldc,
                                arguments.alpha,
                                arguments.beta};
  Result<ptx::LaunchResult> result =
      ptx::launch(loaded.module, loaded.spec.name, config, list, memory_);
  if (!result) return tl::unexpected(std::move(result.error()));
  if (!result->clean()) return tl::unexpected(ptx::to_error(loaded.module, *result));
  counters_ = summary_of(result->counters);
  counted_ = std::move(result->counters);
  return {};
}

}  // namespace

std::unique_ptr<Device> open_cpu(const CpuOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace tilec
