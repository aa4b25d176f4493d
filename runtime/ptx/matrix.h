// Matrix instructions of a warp: what lane holds which element is the ISA's.
#pragma once

#include "runtime/ptx/block.h"

namespace tilec::ptx {

/// The handler of a load_matrix, store_matrix, move_matrix or multiply.
Handler matrix_handler(const Collective& collective);

/// Place of element `element` of register `reg` of lane `lane` in a fragment whose registers hold
/// `per_register` elements. A has `rows` 8 or 16; B is looked at as its transpose, n x k, with 8
/// rows; an accumulator has two elements side by side.
struct Place2 {
  uint32_t row = 0;
  uint32_t column = 0;
};
Place2 place_in_operand(uint32_t lane, uint32_t reg, uint32_t element, uint32_t rows,
                        uint32_t per_register);
Place2 place_in_accumulator(uint32_t lane, uint32_t index);  // index: element of the lane

}  // namespace tilec::ptx
