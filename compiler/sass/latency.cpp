#include "compiler/sass/latency.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tilec::sass {
namespace {

using enum Pipe;

struct Row {
  File file;
  Pipe producer;
  Pipe consumer;
  std::string_view how;  // data guard lower upper addend
  int sm_80, sm_86, sm_90;
};

constexpr auto kRows = std::to_array<Row>({
#define TILEC_LATENCY(file, producer, consumer, how, sm_80, sm_86, sm_90) \
  {File::file, producer, consumer, how, sm_80, sm_86, sm_90},
#include "compiler/sass/latency.def"
#undef TILEC_LATENCY
});

struct Measured {
  int sm;
  File file;
  Pipe producer;
  Pipe consumer;
  std::string_view how;
  int cycles;
};

constexpr auto kMeasured = std::to_array<Measured>({
#define TILEC_MEASURED(sm, file, producer, consumer, how, cycles) \
  {sm, File::file, producer, consumer, how, cycles},
#include "compiler/sass/data/measured_h200.def"
#undef TILEC_MEASURED
});

template <class Row>
bool applies(const Row& row, const Produced& produced, const Consumed& consumed) {
  if (row.file != produced.file || row.producer != produced.pipe) return false;
  if (consumed.guard) return row.how == "guard";
  if (row.consumer != consumed.pipe) return false;
  if (row.how == "lower") return !produced.upper;
  if (row.how == "upper") return produced.upper;
  if (row.how == "addend") return consumed.upper;
  return row.how == "data";
}

// Stages from the read of operands to the write of a general register, as far as they matter here.
int depth(Pipe pipe, int sm) {
  switch (pipe) {
    case wide:
    case product_high:
      return 6;
    case half:
      return 10;
    case move_special:
      return sm == 90 ? 6 : kFarApart;
    default:
      return 4;
  }
}

}  // namespace

Pipe pipe_of(const Instruction& instruction, const Operands& operands) {
  switch (instruction.opcode->code) {
    case 0x005:
      return move_special;
    case 0x00b:
      return float_set;
    case 0x020:
    case 0x021:
    case 0x023:
    case 0x024:
    case 0x036:
      return fma;
    case 0x025:
      return wide;
    case 0x027:
      return product_high;
    case 0x031:
    case 0x035:
      return half;
    case 0x082:
      return uniform_move;
    case 0x0b9:
      return uniform_load;
    case 0x0ca:
    case 0x1c2:
      return to_uniform;
    default:
      break;
  }
  if (operands.reads_late() && operands.effect != Effect::none) return memory;
  if (operands.variable_latency) return other;
  if (operands.effect != Effect::none && operands.effect != Effect::constant_read) return control;
  const uint16_t code = instruction.opcode->code;
  return code >= 0x080 && code < 0x100 ? uniform : alu;
}

std::optional<int> latency(const Produced& produced, const Consumed& consumed, int sm) {
  for (const Measured& row : kMeasured)
    if (row.sm == sm && applies(row, produced, consumed)) return row.cycles;
  for (const Row& row : kRows) {
    if (!applies(row, produced, consumed)) continue;
    const int cycles = sm >= 90 ? row.sm_90 : sm >= 86 ? row.sm_86 : row.sm_80;
    return cycles == 0 ? std::nullopt : std::optional<int>(cycles);
  }
  return std::nullopt;
}

int write_after_write(Pipe first, Pipe second, int sm) {
  return std::max(1, depth(first, sm) - depth(second, sm) + 1);
}

bool goes_to_memory(const Instruction& instruction, const Operands& operands) {
  if (instruction.guard.predicate == kTruePredicate && instruction.guard.negated) return false;
  switch (operands.effect) {
    case Effect::shared_read:
    case Effect::shared_write:
    case Effect::global_read:
    case Effect::global_write:
    case Effect::local_read:
    case Effect::local_write:
    case Effect::atomic:
    case Effect::async_copy:
    case Effect::async_commit:
      return true;
    default:
      return false;
  }
}

bool is_uniform(Pipe pipe) {
  return pipe == Pipe::to_uniform || pipe == Pipe::uniform || pipe == Pipe::uniform_load ||
         pipe == Pipe::uniform_move;
}

bool overtakes(Pipe pipe) {
  return pipe == Pipe::uniform_move || pipe == Pipe::uniform_load;
}

int issue_distance(const Instruction& first, const Operands& first_operands,
                   const Instruction& second, const Operands& second_operands) {
  const bool later = goes_to_memory(second, second_operands);
  if (goes_to_memory(first, first_operands)) return later ? 4 : 1;
  if (first_operands.effect == Effect::block_barrier) return later ? 6 : 1;
  if (first_operands.effect == Effect::async_wait)
    return second_operands.effect == Effect::block_barrier ? 4 : 1;
  const auto computes = [](Pipe pipe) { return is_uniform(pipe) && !overtakes(pipe); };
  return computes(pipe_of(first, first_operands)) && computes(pipe_of(second, second_operands)) ? 2
                                                                                                : 1;
}

}  // namespace tilec::sass
