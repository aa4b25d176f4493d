#include "compiler/sass/retarget.h"

#include "compiler/sass/decode.h"

namespace tilec::sass {

std::optional<Word> with_target(Word word, uint32_t offset, int64_t target, int sm) {
  constexpr uint16_t kPushSync = 0x145, kBranch = 0x147;
  const Instruction old = decode(word, offset, sm);
  if (!old.target || (target - offset) % 4 != 0) return std::nullopt;
  const int64_t distance = (target - offset - int64_t{kWordBytes}) / 4;
  const auto bits_of = static_cast<uint64_t>(distance);
  if (old.opcode->code == kPushSync) {
    word = with_bits(word, 34, 30, bits_of);
  } else if (old.opcode->code == kBranch && sm >= 90) {
    word = with_bits(word, 34, 48, bits_of >> 8);
    word = with_bits(word, 16, 8, bits_of);
  } else {
    word = with_bits(word, 34, 48, bits_of);
  }
  if (decode(word, offset, sm).target != target) return std::nullopt;
  return word;
}

}  // namespace tilec::sass
