// The rules `head` and `storage` of the grammar in kernel.h.
#pragma once

#include "compiler/ir/kernel.h"
#include "compiler/ir/tokens.h"

namespace tilec::ir {

class HeadParser : protected Tokens {
 public:
  using Tokens::Tokens;

 protected:
  void head(Kernel& kernel);
  Storage storage();

 private:
  dsl::Extent tile(int& tile_k);  // INTxINTxINT
  void raster(Kernel& kernel);
  Axis axis(bool optional);
  void extents(Storage& s);
};

}  // namespace tilec::ir
