#include "compiler/codegen/liveness.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace tilec::codegen {
namespace {

struct Use {
  std::set<ir::Id> read_first;
  std::set<ir::Id> written;         // on some path
  std::set<ir::Id> surely_written;  // on every path
};

void read(Use& use, ir::Id id) {
  if (id >= 0 && use.surely_written.count(id) == 0) use.read_first.insert(id);
}

void write(Use& use, ir::Id id) {
  use.written.insert(id);
  use.surely_written.insert(id);
}

Use uses(const ir::Block& block);

// A nested block runs after what is in `use`; `surely`: it runs at all.
void include(Use& use, const Use& nested, bool surely) {
  for (ir::Id id : nested.read_first) read(use, id);
  use.written.insert(nested.written.begin(), nested.written.end());
  if (surely) use.surely_written.insert(nested.surely_written.begin(), nested.surely_written.end());
}

Use uses(const ir::Block& block) {
  Use use;
  for (const ir::Op& op : block) {
    switch (op.kind) {
      case ir::OpKind::zero:
      case ir::OpKind::load:
      case ir::OpKind::fragment:
      case ir::OpKind::sum:
        write(use, op.to);
        break;
      case ir::OpKind::put:
      case ir::OpKind::share:
      case ir::OpKind::store:
        read(use, op.from);
        break;
      case ir::OpKind::outer:
        for (ir::Id id : {op.from, op.from_n, op.to}) read(use, id);
        write(use, op.to);
        break;
      case ir::OpKind::loop:
        include(use, uses(op.body), false);
        break;
      case ir::OpKind::branch: {
        const Use then = uses(op.body);
        const Use otherwise = uses(op.otherwise);
        Use both = then;
        both.read_first.insert(otherwise.read_first.begin(), otherwise.read_first.end());
        both.written.insert(otherwise.written.begin(), otherwise.written.end());
        both.surely_written.clear();
        std::set_intersection(then.surely_written.begin(), then.surely_written.end(),
                              otherwise.surely_written.begin(), otherwise.surely_written.end(),
                              std::inserter(both.surely_written, both.surely_written.end()));
        include(use, both, true);
        break;
      }
      default:
        break;
    }
  }
  return use;
}

}  // namespace

std::vector<ir::Id> carried_by(const ir::Block& body) {
  const Use use = uses(body);
  std::vector<ir::Id> out;
  std::set_intersection(use.read_first.begin(), use.read_first.end(), use.written.begin(),
                        use.written.end(), std::back_inserter(out));
  return out;
}

}  // namespace tilec::codegen
