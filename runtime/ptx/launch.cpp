#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "runtime/ptx/cluster.h"
#include "runtime/ptx/decode.h"
#include "runtime/ptx/global_shadow.h"
#include "runtime/ptx/machine.h"
#include "runtime/ptx/summary.h"

namespace tilec::ptx {
namespace {

using dsl::Error;

constexpr std::array<uint32_t, 3> kMaxGrid = {0x7FFF'FFFF, 65535, 65535};
constexpr std::array<uint32_t, 3> kMaxBlock = {1024, 1024, 64};

// Warp instructions that a block runs before others may get their turn.
constexpr uint64_t kTurn = 1 << 20;
constexpr uint64_t kShortTurn = 1 << 16;
// Blocks that talk to each other and are under way at once.
constexpr size_t kMostUnderWay = 2048;

tl::unexpected<Error> refused(const char* code, std::string message, std::string help = "") {
  return tl::unexpected(Error::user(code, std::move(message), std::move(help)));
}

std::string extents(const std::array<uint32_t, 3>& of) {
  return fmt::format("{}x{}x{}", of[0], of[1], of[2]);
}

dsl::Result<void> check_extents(const LaunchConfig& config) {
  for (size_t axis = 0; axis < 3; ++axis) {
    if (config.grid[axis] == 0 || config.grid[axis] > kMaxGrid[axis])
      return refused("launch-grid", fmt::format("grid {}: each axis has 1 to {} blocks",
                                                extents(config.grid), extents(kMaxGrid)));
    if (config.block[axis] == 0 || config.block[axis] > kMaxBlock[axis])
      return refused("launch-block", fmt::format("block {}: the axes have 1 to {} threads",
                                                 extents(config.block), extents(kMaxBlock)));
  }
  const uint64_t threads = uint64_t{config.block[0]} * config.block[1] * config.block[2];
  if (threads > kMaxBlockThreads)
    return refused("launch-block", fmt::format("block {} has {} threads; at most {}",
                                               extents(config.block), threads, kMaxBlockThreads));
  return {};
}

dsl::Result<void> check_cluster(const Code& code, const LaunchConfig& config) {
  const uint64_t blocks = uint64_t{code.cluster[0]} * code.cluster[1] * code.cluster[2];
  if (blocks > kMostOfCluster)
    return refused("launch-bounds", fmt::format("`{}` wants clusters of {} blocks; at most {}",
                                                code.name, blocks, kMostOfCluster));
  for (size_t axis = 0; axis < 3; ++axis)
    if (config.grid[axis] % code.cluster[axis] != 0)
      return refused("launch-bounds",
                     fmt::format("`{}` wants clusters of {} blocks (.reqnctapercluster), which do "
                                 "not fill a grid of {}",
                                 code.name, extents(code.cluster), extents(config.grid)));
  return {};
}

dsl::Result<void> check_config(const Code& code, const LaunchConfig& config) {
  if (auto good = check_extents(config); !good) return good;
  if (config.threads < 0 || config.max_block_instructions == 0)
    return refused("launch-config", "host threads and instructions have to be positive");
  if (code.reqntid[0] != 0 && code.reqntid != config.block)
    return refused("launch-bounds",
                   fmt::format("`{}` wants blocks of {} (.reqntid), not {}", code.name,
                               extents(code.reqntid), extents(config.block)));
  const uint64_t threads = uint64_t{config.block[0]} * config.block[1] * config.block[2];
  const uint64_t most = uint64_t{code.maxntid[0]} * code.maxntid[1] * code.maxntid[2];
  if (most != 0 && threads > most)
    return refused("launch-bounds", fmt::format("`{}` takes at most {} threads (.maxntid), not {}",
                                                code.name, most, threads));
  if (auto good = check_cluster(code, config); !good) return good;
  const auto fixed = static_cast<int64_t>(code.dynamic_shared - kSharedBegin);
  if (config.dynamic_shared_bytes < 0 || config.dynamic_shared_bytes > config.shared_limit - fixed)
    return refused(
        "launch-shared",
        fmt::format("{} bytes of static and {} of dynamic shared memory; the limit is {}", fixed,
                    config.dynamic_shared_bytes, config.shared_limit));
  return {};
}

// One argument against its parameter: same size, and of numbers a float where one is wanted.
dsl::Result<void> place_argument(const Parameter& parameter, size_t index, const Argument& argument,
                                 std::byte* to) {
  const bool untyped = parameter.type.starts_with('b');
  const bool wants_float = parameter.type.starts_with('f');
  const auto place = [&](const void* from, size_t bytes, const char* what,
                         bool fits) -> dsl::Result<void> {
    if (bytes != static_cast<size_t>(parameter.bytes) || !fits)
      return refused("launch-argument-type",
                     fmt::format("argument {} is {} of {} bytes; `{}` is .{}", index + 1, what,
                                 bytes, parameter.name, parameter.type));
    std::memcpy(to, from, bytes);
    return {};
  };
  return std::visit(
      [&](const auto& value) -> dsl::Result<void> {
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::vector<std::byte>>)
          return place(value.data(), value.size(), "data", true);
        else if constexpr (std::is_floating_point_v<T>)
          return place(&value, sizeof(value), "a float", untyped || wants_float);
        else
          return place(&value, sizeof(value), "an integer", untyped || !wants_float);
      },
      argument);
}

dsl::Result<std::vector<std::byte>> place_arguments(const Code& code,
                                                    std::span<const Argument> arguments) {
  if (arguments.size() != code.parameters.size())
    return refused("launch-argument-count",
                   fmt::format("{} arguments for the {} parameters of `{}`", arguments.size(),
                               code.parameters.size(), code.name));
  std::vector<std::byte> bytes(static_cast<size_t>(code.parameter_bytes));
  for (size_t i = 0; i < arguments.size(); ++i)
    if (auto good = place_argument(code.parameters[i], i, arguments[i],
                                   bytes.data() + code.parameter_offsets[i]);
        !good)
      return tl::unexpected(good.error());
  return bytes;
}

// Module-scope variables live in the memory for as long as a launch.
dsl::Result<std::vector<uint64_t>> place_variables(const Program& program, Memory& memory) {
  std::vector<uint64_t> addresses;
  for (const ModuleVariable& variable : program.variables) {
    auto address = memory.allocate(variable.bytes, std::max<int64_t>(variable.align, 16));
    if (!address) return tl::unexpected(address.error());
    addresses.push_back(*address);
  }
  for (size_t i = 0; i < addresses.size(); ++i) {
    const ModuleVariable& variable = program.variables[i];
    std::vector<uint8_t> image = variable.image;
    for (const ModuleVariable::Relocation& relocation : variable.relocations) {
      const uint64_t value = addresses[relocation.variable] + relocation.addend;
      std::memcpy(image.data() + relocation.offset, &value,
                  static_cast<size_t>(std::min(relocation.bytes, 8)));
    }
    if (auto written = memory.write(addresses[i], std::as_bytes(std::span(image))); !written)
      return tl::unexpected(written.error());
    memory.find(addresses[i])->read_only = variable.read_only;
  }
  return addresses;
}

void collect(ClusterRun& run, RawCounts& counts, FoundList& findings) {
  for (uint32_t rank = 0; rank < run.size(); ++rank) {
    counts.add(run.block(rank).counts);
    findings.add(run.block(rank).findings);
  }
}

// Clusters are taken in order by whoever is free; what each does depends on no other.
void run_apart(const Launch& launch, uint64_t clusters, RawCounts& counts, FoundList& findings) {
  const uint64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const uint64_t wanted =
      launch.config.threads > 0 ? static_cast<uint64_t>(launch.config.threads) : cores;
  const uint64_t workers = std::min(wanted, clusters);
  std::atomic<uint64_t> next{0};
  std::vector<std::unique_ptr<ClusterRun>> runs;
  for (uint64_t i = 0; i < workers; ++i) runs.push_back(std::make_unique<ClusterRun>(launch));
  const auto work = [&](ClusterRun& run) {
    for (uint64_t cluster = next++; cluster < clusters; cluster = next++) {
      run.begin(launch.schedule.block(cluster));
      while (!run.advance(kTurn)) {
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t i = 1; i < workers; ++i) threads.emplace_back(work, std::ref(*runs[i]));
  work(*runs[0]);
  for (std::thread& thread : threads) thread.join();
  for (const auto& run : runs) collect(*run, counts, findings);
}

// Blocks that talk to each other through global memory: one host thread, so that every run is the
// same, and many blocks under way at once, so that one may wait for another, as on a GPU that holds
// them all.
void run_together(const Launch& launch, uint64_t clusters, RawCounts& counts, FoundList& findings) {
  std::vector<std::unique_ptr<ClusterRun>> under_way;
  std::vector<std::unique_ptr<ClusterRun>> idle;
  uint64_t next = 0;
  const auto begin_one = [&] {
    if (idle.empty()) idle.push_back(std::make_unique<ClusterRun>(launch));
    under_way.push_back(std::move(idle.back()));
    idle.pop_back();
    under_way.back()->begin(launch.schedule.block(next++));
  };
  size_t more = 1;
  while (next < clusters || !under_way.empty()) {
    while (more-- > 0 && next < clusters && under_way.size() < kMostUnderWay) begin_one();
    size_t ended = 0;
    for (size_t i = 0; i < under_way.size();) {
      if (!under_way[i]->advance(kShortTurn)) {
        ++i;
        continue;
      }
      ++ended;
      idle.push_back(std::move(under_way[i]));
      under_way.erase(under_way.begin() + static_cast<ptrdiff_t>(i));
    }
    // Where none could end, they may wait for blocks that are not under way yet.
    more = ended > 0 ? ended : std::max<size_t>(under_way.size(), 1);
  }
  for (const auto& run : idle) collect(*run, counts, findings);
}

}  // namespace

dsl::Result<Module> parse(const dsl::Source& source) {
  Faults faults;
  auto program = std::make_shared<Program>();
  program->source = source;
  const Unit unit = read_unit(program->source, faults);
  if (!faults.any()) decode_unit(unit, *program, faults);
  if (faults.any()) return tl::unexpected(faults.error(source));
  return Module(std::move(program));
}

std::vector<std::string> Module::entries() const {
  std::vector<std::string> names;
  for (const Code& code : program_->codes) names.push_back(code.name);
  return names;
}

std::vector<Parameter> Module::parameters(std::string_view entry) const {
  const Code* code = program_->find(entry);
  return code ? code->parameters : std::vector<Parameter>{};
}

dsl::Result<LaunchResult> launch(const Module& module, std::string_view entry,
                                 const LaunchConfig& config, std::span<const Argument> arguments,
                                 Memory& memory) {
  const Program& program = module.program();
  const Code* code = program.find(entry);
  if (!code) {
    std::string names;
    for (const Code& other : program.codes) names += (names.empty() ? "" : ", ") + other.name;
    return refused("launch-no-entry", fmt::format("no entry `{}`", entry),
                   names.empty() ? "the module has none" : "there is: " + names);
  }
  if (auto good = check_config(*code, config); !good) return tl::unexpected(good.error());
  auto parameters = place_arguments(*code, arguments);
  if (!parameters) return tl::unexpected(parameters.error());
  auto variables = place_variables(program, memory);
  if (!variables) return tl::unexpected(variables.error());

  Launch launch{.program = &program, .code = code, .config = config, .memory = &memory};
  launch.parameters = std::move(*parameters);
  launch.variables = std::move(*variables);
  launch.shared_end = code->dynamic_shared + static_cast<uint64_t>(config.dynamic_shared_bytes);
  launch.threads_per_block = config.block[0] * config.block[1] * config.block[2];
  launch.warps_per_block = (launch.threads_per_block + kLanes - 1) / kLanes;
  bind(*code, config, launch.ops);

  const uint64_t blocks = uint64_t{config.grid[0]} * config.grid[1] * config.grid[2];
  const uint64_t clusters =
      blocks / (uint64_t{code->cluster[0]} * code->cluster[1] * code->cluster[2]);
  launch.schedule = Schedule(config.schedule, clusters);
  OwnerSites sites;
  launch.sites = &sites;
  const bool owners = config.checks == Checks::all && blocks > 1;
  if (owners) start_owners(memory);
  RawCounts counts;
  FoundList findings;
  if (code->between_blocks && blocks > 1)
    run_together(launch, clusters, counts, findings);
  else
    run_apart(launch, clusters, counts, findings);
  if (owners) drop_owners(memory);
  for (uint64_t address : launch.variables) (void)memory.free(address);
  LaunchResult result;
  if (config.counters) result.counters = summarise(program, *code, counts);
  result.findings = describe_all(launch, findings);
  return result;
}

}  // namespace tilec::ptx
