// What an instruction is for: the rows of the report's instruction mix.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tilec::sass {

struct Instruction;

enum class Class {
  fma,            // multiply-adds on CUDA cores: FFMA, FFMA2, HFMA2, DFMA
  matrix,         // tensor core instructions
  fragment_load,  // shared memory (or, for kernels without a copy, global) to registers
  slice_copy,     // global to registers or shared memory, registers to shared memory
  address,        // integer arithmetic and constants: addresses, loop counts
  barrier,        // barriers, waits and fences
  move,           // copies between registers, special registers
  control,        // branches and the predicates that they take
  spill,          // local memory
  store,          // results to global memory
  float_other,    // floating point that is no multiply-add
  nop,            // padding
  unknown,        // not in our tables
};

inline constexpr size_t kClasses = 13;

/// `fragment_load`: the key in JSON. Indexed by Class.
std::string_view class_name(Class kind);

/// "fragment loads": for people.
std::string_view class_title(Class kind);

/// The class of one instruction. Looks at operands as well as the opcode: IMAD is also how the
/// assembler moves a register, HFMA2 how it loads a constant.
Class classify(const Instruction& instruction);

/// Multiply-adds that one lane gets from it: FFMA 1, FFMA2 and HFMA2 2; 0 for everything else.
/// Tensor core instructions are 0: their shapes are not decoded yet.
int multiply_adds(const Instruction& instruction);

/// One count a class.
struct ClassCounts {
  std::array<int, kClasses> of{};
  int& operator[](Class kind) { return of[static_cast<size_t>(kind)]; }
  int operator[](Class kind) const { return of[static_cast<size_t>(kind)]; }
  int total() const {
    int sum = 0;
    for (const int count : of) sum += count;
    return sum;
  }
  bool operator==(const ClassCounts&) const = default;
};

}  // namespace tilec::sass
