#include "dsl/space.h"

#include <fmt/format.h>

#include "dsl/diagnostics.h"

namespace tilec::dsl {

bool is_space(const SpecAst& ast) {
  return count_members(ast, 1) > 1;
}

int64_t count_members(const SpecAst& ast, int64_t cap) {
  int64_t members = 1;
  for (const Clause& clause : ast.clauses) {
    for (const Slot& slot : clause.slots) {
      // A set has at most kLongestSet members and `members` is at most `cap`: no overflow.
      members *= static_cast<int64_t>(slot.choices.size());
      if (members > cap) return cap + 1;
    }
  }
  return members;
}

Result<std::vector<SpecAst>> expand(const SpecAst& ast, int64_t most) {
  int64_t members = count_members(ast, most);
  if (members > most) {
    return tl::unexpected(user_error(
        *ast.source, {diagnose(Fault::space_too_large, ast.span,
                               fmt::format("the space has more than {} members", most),
                               "leave values out of its sets, or search parts of it in turn")}));
  }
  std::vector<SpecAst> out;
  for (int64_t member = 0; member < members; ++member) {
    SpecAst spec = ast;
    // The member's number, read as digits in the sets' sizes, the last slot's digit lowest.
    int64_t digits = member;
    for (auto clause = spec.clauses.rbegin(); clause != spec.clauses.rend(); ++clause) {
      for (auto slot = clause->slots.rbegin(); slot != clause->slots.rend(); ++slot) {
        auto size = static_cast<int64_t>(slot->choices.size());
        Atom chosen = slot->choices[static_cast<size_t>(digits % size)];
        digits /= size;
        slot->choices = {std::move(chosen)};
      }
    }
    out.push_back(std::move(spec));
  }
  return out;
}

}  // namespace tilec::dsl
