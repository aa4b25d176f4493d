// SASS, the machine code of NVIDIA GPUs, as this folder reads it.
//
// A cubin is an ELF file (elf.h, cubin.h). Its code is a row of 128-bit instruction words (word.h),
// the same form from sm_80 to sm_120. A word holds an opcode (opcodes.h: one table with every
// opcode we have seen), operands (decode.h) and the control fields (control.h) by which the
// assembler, not the hardware, keeps instructions apart. From decoded words follow basic blocks and
// loops (flow.h), what each instruction is for (classes.h), and what the register file makes of a
// run of multiply-adds (banks.h).
//
// None of this needs a GPU or CUDA. Where `nvdisasm` is found, its text (disassemble.h) stands
// beside our words and is compared with them (cross_check.h): two readers of the same bits.
//
// Where the tables come from: about 200 kernels in CUDA C++ and inline PTX were compiled by nvcc
// 13.0 for sm_80, sm_86, sm_89, sm_90a, sm_100a and sm_120a; every field was placed by comparing
// nvdisasm's text with the bits over all of those instructions. What was never seen is not in the
// tables, and is reported as unknown, never guessed at.
#pragma once

#include <cstdint>

namespace tilec::sass {

inline constexpr uint32_t kWordBytes = 16;

/// One instruction. Bit 0 is the lowest of `lo`, bit 64 the lowest of `hi`.
struct Word {
  uint64_t lo = 0;
  uint64_t hi = 0;
  bool operator==(const Word&) const = default;
};

/// `count` bits from bit `first` on; count 1 to 64, first + count <= 128.
constexpr uint64_t bits(Word word, int first, int count) {
  uint64_t value = 0;
  if (first >= 64) {
    value = word.hi >> (first - 64);
  } else {
    value = word.lo >> first;
    if (first > 0 && first + count > 64) value |= word.hi << (64 - first);
  }
  return count == 64 ? value : value & ((uint64_t{1} << count) - 1);
}

/// `word` with the low `count` bits of `value` at bit `first`; count 1 to 63.
constexpr Word with_bits(Word word, int first, int count, uint64_t value) {
  const uint64_t mask = (uint64_t{1} << count) - 1;
  value &= mask;
  if (first >= 64) {
    word.hi = (word.hi & ~(mask << (first - 64))) | value << (first - 64);
    return word;
  }
  word.lo = (word.lo & ~(mask << first)) | value << first;
  if (first > 0 && first + count > 64)
    word.hi = (word.hi & ~(mask >> (64 - first))) | value >> (64 - first);
  return word;
}

}  // namespace tilec::sass
