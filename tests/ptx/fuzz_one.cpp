#include "tests/ptx/fuzz_one.h"

#include <cstdint>
#include <vector>

#include "runtime/ptx/machine.h"
#include "runtime/ptx/program.h"

namespace tilec::ptx::test {
namespace {

constexpr int64_t kBufferBytes = 4096;
constexpr int64_t kMaxVariableBytes = 1 << 20;  // larger ones only cost time here

Argument argument_of(const Parameter& parameter, Memory& memory) {
  if (parameter.type == "f32") return 1.0f;
  if (parameter.type == "f64") return 1.0;
  if (parameter.type == "s32") return int32_t{3};
  if (parameter.type == "s64") return int64_t{3};
  if (parameter.bytes == 4) return uint32_t{3};
  if (parameter.bytes != 8)
    return std::vector<std::byte>(static_cast<size_t>(parameter.bytes), std::byte{1});
  return memory.allocate(kBufferBytes).value_or(0);
}

}  // namespace

void fuzz_one(const std::string& text) {
  const auto module = parse({"fuzz.ptx", text});
  if (!module) {
    (void)dsl::render(module.error());
    return;
  }
  for (const ModuleVariable& variable : module->program().variables)
    if (variable.bytes > kMaxVariableBytes) return;
  if (module->entries().empty()) return;
  const std::string entry = module->entries()[0];
  Memory memory;
  std::vector<Argument> arguments;
  for (const Parameter& parameter : module->parameters(entry))
    arguments.push_back(argument_of(parameter, memory));
  LaunchConfig config;
  config.grid = {2, 1, 1};
  config.block = {40, 1, 1};
  config.dynamic_shared_bytes = 1024;
  config.checks = Checks::all;
  config.threads = 1;
  config.max_block_instructions = 20'000;
  const auto result = launch(*module, entry, config, arguments, memory);
  if (result) (void)dsl::render(to_error(*module, *result));
}

}  // namespace tilec::ptx::test
