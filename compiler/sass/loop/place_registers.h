// Registers for the accumulators and fragments of a steady loop, by the two banks of the register
// file (banks.h): whatever a multiply-add reads from it lies in different banks.
//
// Fragments of one step and of the next have registers of their own, in aligned groups as their
// loads need them, so that the registers of neighbouring elements alternate between the banks. An
// accumulator lies in the bank that its column's element does not. All other instructions keep the
// registers that they have.
#pragma once

#include <map>

#include "compiler/sass/loop/pair_pointers.h"
#include "compiler/sass/loop/products.h"

namespace tilec::sass {

struct Placement {
  std::vector<int> accumulators;    // as in Products
  std::map<size_t, int> fragments;  // by load (index into Body::ops): its first register
  std::vector<Rename> renames;      // accumulators, and fragments carried round the loop
  int highest = 0;                  // register in use
};

/// `free`: registers that nothing but the multiply-adds and their loads use while the loop runs,
/// those of the old accumulators and fragments among them.
/// Errors: too few of them.
OrWhyNot<Placement> place_registers(const Body& body, const Products& products, Registers free);

/// The body's instructions, in their old order, on the new registers. Each multiply-add has its
/// row's element, which its neighbours share, in slot b, since most other instructions read slot a.
Body apply_placement(const Body& body, const Products& products, const Placement& placement);

}  // namespace tilec::sass
