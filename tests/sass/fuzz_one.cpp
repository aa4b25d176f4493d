#include "tests/sass/fuzz_one.h"

#include <cstdio>
#include <cstdlib>
#include <random>

#include "compiler/sass/liveness.h"
#include "compiler/sass/loop/rewrite_cubin.h"
#include "tests/sass/simulate.h"

namespace tilec::sass::test {
namespace {

constexpr size_t kMostWords = 4096;  // longer kernels only cost time here

// Damage of the kinds that a pass could do, or any bit.
void plant_fault(std::vector<Word>& words, const LoopEdit& edit, std::mt19937& random) {
  const auto pick = [&] { return edit.new_begin + random() % (edit.new_end - edit.new_begin); };
  const size_t one = pick(), other = pick();
  switch (random() % 5) {
    case 0:
      std::swap(words[one], words[other]);
      return;
    case 1:
      words[one] = words[other];
      return;
    case 2:  // a register of the word
      words[one] = with_bits(words[one], std::array{16, 24, 32, 64}[random() % 4], 8, random());
      return;
    case 3:  // the control fields
      words[one] = with_bits(words[one], 105, 21, random());
      return;
    default: {
      const int bit = static_cast<int>(random() % 128);
      words[one] = with_bits(words[one], bit, 1, ~bits(words[one], bit, 1));
    }
  }
}

void expect_same(const Kernel& kernel, int sm, std::span<const Word> after, const LoopEdit& edit) {
  if (same_by_simulation(kernel.words, after, edit, sm, wanted_behind(kernel, sm, edit.old_end)))
    return;
  std::fprintf(stderr, "an edit is proved that the simulation tells apart\n");
  std::abort();
}

}  // namespace

void fuzz_one(std::span<const uint8_t> file, uint32_t seed) {
  std::mt19937 random(seed);
  RewriteOptions options{.max_registers = seed % 7 == 0 ? 128 : 255};
  options.order.slots_apart = seed % 2 == 0;
  const dsl::Result<Cubin> cubin = read_cubin(file);
  if (cubin)
    for (const Kernel& kernel : cubin->kernels)
      if (kernel.words.size() > kMostWords) return;
  const OrWhyNot<RewrittenCubin> whole = rewrite_cubin(file, options);
  if (!whole && whole.error().empty()) std::abort();
  if (whole && !read_cubin(whole->file)) std::abort();
  if (!cubin) return;
  const Kernel& kernel = cubin->kernels.front();
  const OrWhyNot<Rewritten> rewritten = rewrite_loop(kernel, cubin->sm, options);
  if (!rewritten) return;
  const LoopEdit& edit = rewritten->edit;
  std::vector<Word> words = rewritten->code.words;
  for (int fault = 0; fault < 4; ++fault) {
    if (!verify_edit(kernel.words, words, edit, cubin->sm))
      expect_same(kernel, cubin->sm, words, edit);
    if (fault % 2 == 1) words = rewritten->code.words;
    plant_fault(words, edit, random);
  }
}

}  // namespace tilec::sass::test
