#include "compiler/sass/loop/enter_leave.h"

#include <array>

#include "compiler/sass/control.h"
#include "compiler/sass/replace_code.h"

namespace tilec::sass {
namespace {

constexpr int kMoveLatency = 5;  // cycles, from a move to another (latency.h)
constexpr int kPause = 11;       // cycles; no fixed latency to or from a move is longer

// MOV d, b with all lanes, as the assembler writes it: form 1, the lane mask in bits 72..75.
Word move_word(int to, int from) {
  Word word{.lo = 0x7202, .hi = 0xf00};
  word = with_bits(word, 16, 8, static_cast<uint64_t>(to));
  word = with_bits(word, 32, 8, static_cast<uint64_t>(from));
  return with_control(word, {.stall = 1});
}

Word pause(int wait_mask) {
  return with_control(nop_word(), {.stall = kPause, .wait_mask = wait_mask});
}

// Moves in an order in which no source is overwritten before it was read. A chain starts at a
// register that nobody reads; what remains are cycles, opened by way of the spare register.
class Moves {
 public:
  explicit Moves(std::span<const Rename> renames) {
    source_.fill(-1);
    for (const Rename& rename : renames) {
      if (rename.from == rename.to) continue;
      source_[static_cast<size_t>(rename.to)] = rename.from;
      ++readers_[static_cast<size_t>(rename.from)];
    }
  }

  OrWhyNot<std::vector<Word>> write(int spare) {
    spare_ = spare;
    for (int reg = 0; reg < kZeroRegister; ++reg)
      if (readers_[static_cast<size_t>(reg)] == 0) run_chain(reg);
    for (int reg = 0; reg < kZeroRegister; ++reg) {
      if (source_[static_cast<size_t>(reg)] < 0) continue;
      if (spare < 0) return WhyNot("no register is free to turn a cycle of moves");
      move(spare, reg);  // whoever reads `reg` reads it from there
      for (int& source : source_)
        if (source == reg) source = spare;
      run_chain(reg);
    }
    return std::move(words_);
  }

 private:
  // What a move before this one wrote can be read some cycles later: only the spare register is.
  void move(int to, int from) {
    if (from == spare_) words_.back() = with_control(words_.back(), {.stall = kMoveLatency});
    words_.push_back(move_word(to, from));
  }

  void run_chain(int to) {
    while (source_[static_cast<size_t>(to)] >= 0) {
      const int from = source_[static_cast<size_t>(to)];
      move(to, from);
      source_[static_cast<size_t>(to)] = -1;
      if (--readers_[static_cast<size_t>(from)] > 0) return;
      to = from;
    }
  }

  std::array<int, 256> source_{};   // what is to come into a register; -1: nothing
  std::array<int, 256> readers_{};  // moves that still need a register's old value
  int spare_ = -1;
  std::vector<Word> words_;
};

}  // namespace

OrWhyNot<std::vector<Word>> move_registers(std::span<const Rename> renames, int spare,
                                           int wait_mask, int cycles) {
  OrWhyNot<std::vector<Word>> moves = Moves(renames).write(spare);
  if (!moves) return moves;
  if (!moves->empty()) moves->push_back(pause(0));
  std::vector<Word> waits{pause(wait_mask)};
  while (static_cast<int>(waits.size()) * kPause < cycles) waits.push_back(pause(0));
  moves->insert(moves->begin(), waits.begin(), waits.end());
  return moves;
}

std::vector<Rename> inverse(std::span<const Rename> renames) {
  std::vector<Rename> out;
  for (const Rename& rename : renames) out.push_back({rename.to, rename.from});
  return out;
}

}  // namespace tilec::sass
