#include "tools/emulate_run.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "runtime/cuda/loader.h"
#include "runtime/ptx/program.h"
#include "runtime/try.h"

namespace tilec {
namespace {

using dsl::Result;

/// The command line takes any number; a launch takes 32 bits, and says which of these are too many.
Result<std::array<uint32_t, 3>> extents_of(const std::array<uint64_t, 3>& wanted, const char* code,
                                           const char* what) {
  std::array<uint32_t, 3> extents{};
  for (size_t axis = 0; axis < 3; ++axis) {
    if (wanted[axis] > std::numeric_limits<int32_t>::max())
      return tl::unexpected(dsl::Error::user(
          code, fmt::format("{} {}: no axis has more than {}", what, fmt::join(wanted, ","),
                            std::numeric_limits<int32_t>::max())));
    extents[axis] = static_cast<uint32_t>(wanted[axis]);
  }
  return extents;
}

struct Extents {
  std::array<uint32_t, 3> grid, block;
  int64_t shared_bytes;
};

Result<Extents> read_extents(const EmulateCommand& command) {
  const auto grid = extents_of(command.grid, "launch-grid", "grid");
  if (!grid) return tl::unexpected(grid.error());
  const auto block = extents_of(command.block, "launch-block", "block");
  if (!block) return tl::unexpected(block.error());
  // Whatever is beyond 2^62 bytes is refused as that is.
  const uint64_t shared = std::min(command.shared_bytes, uint64_t{1} << 62);
  return Extents{*grid, *block, static_cast<int64_t>(shared)};
}

/// Bytes of an allocation that are marked as never written.
int64_t count_unwritten(const ptx::Allocation& allocation) {
  int64_t written = 0;
  for (uint64_t word = 0; word < (allocation.bytes + 3) / 4; ++word)
    written += __builtin_popcount(allocation.written[word]);
  return static_cast<int64_t>(allocation.bytes) - written;
}

Result<EmulateRun> run_on_cpu(const EmulateCommand& command, const Extents& extents,
                              const ptx::Module& module, const std::string& entry,
                              std::span<const EmulateArgument> arguments) {
  ptx::Memory memory;
  std::vector<ptx::Argument> list;
  std::vector<uint64_t> addresses(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const BufferArgument& buffer = arguments[i].buffer;
    if (!arguments[i].is_buffer()) {
      list.emplace_back(arguments[i].value);
      continue;
    }
    Result<uint64_t> address = memory.allocate(buffer.bytes);
    if (!address) return tl::unexpected(std::move(address.error()));
    TILEC_TRY(memory.write(*address, buffer.contents));
    addresses[i] = *address;
    list.emplace_back(*address);
    if (arguments[i].parameter.type == "s64") list.back() = static_cast<int64_t>(*address);
  }
  ptx::LaunchConfig config;
  config.grid = extents.grid;
  config.block = extents.block;
  config.dynamic_shared_bytes = extents.shared_bytes;
  config.checks = command.check_all ? ptx::Checks::all : ptx::Checks::bounds;
  config.max_block_instructions = command.most_instructions;
  config.counters = command.counters;
  config.schedule = command.schedule;
  Result<ptx::LaunchResult> result = ptx::launch(module, entry, config, list, memory);
  if (!result) return tl::unexpected(std::move(result.error()));

  EmulateRun run{.result = std::move(*result)};
  run.after.resize(arguments.size());
  run.unwritten.resize(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_buffer()) continue;
    run.after[i].resize(static_cast<size_t>(arguments[i].buffer.bytes));
    TILEC_TRY(memory.read(addresses[i], run.after[i]));
    if (command.check_all && !run.after[i].empty())
      run.unwritten[i] = count_unwritten(*memory.find(addresses[i]));
  }
  return run;
}

Result<EmulateRun> run_on_gpu(const Extents& extents, const ptx::Module& module,
                              const std::string& entry,
                              std::span<const EmulateArgument> arguments) {
  Result<std::unique_ptr<cuda::Loader>> loader = cuda::open_loader({});
  if (!loader) return tl::unexpected(std::move(loader.error()));
  cuda::PtxLaunch launch{.ptx = module.program().source.text,
                         .entry = entry,
                         .grid = extents.grid,
                         .block = extents.block,
                         .dynamic_shared_bytes = extents.shared_bytes};
  std::vector<Address> addresses(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const BufferArgument& buffer = arguments[i].buffer;
    launch.parameters.push_back(arguments[i].value);
    if (!arguments[i].is_buffer()) continue;
    Result<Address> address = (*loader)->allocate(buffer.bytes);
    if (!address) return tl::unexpected(std::move(address.error()));
    TILEC_TRY((*loader)->upload(*address, buffer.contents));
    addresses[i] = *address;
    launch.parameters[i].resize(sizeof(Address));
    std::memcpy(launch.parameters[i].data(), &*address, sizeof(Address));
  }
  TILEC_TRY((*loader)->launch(launch));
  EmulateRun run{.device = (*loader)->info()};
  run.after.resize(arguments.size());
  run.unwritten.resize(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_buffer()) continue;
    run.after[i].resize(static_cast<size_t>(arguments[i].buffer.bytes));
    TILEC_TRY((*loader)->download(run.after[i], addresses[i]));
  }
  return run;
}

}  // namespace

Result<EmulateRun> emulate(const EmulateCommand& command, const ptx::Module& module,
                           const std::string& entry, std::span<const EmulateArgument> arguments) {
  const Result<Extents> extents = read_extents(command);
  if (!extents) return tl::unexpected(extents.error());
  if (command.gpu) return run_on_gpu(*extents, module, entry, arguments);
  return run_on_cpu(command, *extents, module, entry, arguments);
}

}  // namespace tilec
