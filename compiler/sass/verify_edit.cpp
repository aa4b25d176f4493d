#include "compiler/sass/verify_edit.h"

#include "compiler/sass/verify_parts.h"

namespace tilec::sass {
namespace {

bool is_within(const LoopEdit& edit, size_t before, size_t after) {
  return edit.old_begin < edit.old_end && edit.old_end <= before &&
         edit.new_begin <= edit.new_loop_begin && edit.new_loop_begin < edit.new_loop_end &&
         edit.new_loop_end <= edit.new_end && edit.new_end <= after &&
         edit.new_begin == edit.old_begin;
}

}  // namespace

std::optional<Finding> verify_edit(std::span<const Word> before, std::span<const Word> after,
                                   const LoopEdit& edit, int sm) {
  if (!is_within(edit, before.size(), after.size()))
    return Finding{edit.new_begin, "shape", "the places of the loops are not within the words"};
  const verify::Code old_code = verify::read_code(before, sm);
  const verify::Code new_code = verify::read_code(after, sm);
  const verify::Both both{old_code, new_code, edit};
  // Later rules take the earlier ones for granted.
  for (const auto check :
       {verify::check_shape, verify::check_layout, verify::check_words, verify::check_values,
        verify::check_control, verify::check_timing, verify::check_memory})
    if (std::optional<Finding> finding = check(both)) return finding;
  return std::nullopt;
}

}  // namespace tilec::sass
