// Outer products found in loops, and every line that says why a loop has none.
#include "compiler/sass/loop/products.h"
#include "tests/sass/kernels.h"
#include "tests/sass/loop_support.h"

namespace tilec::sass {
namespace {

Products products_of(const std::vector<Word>& body) {
  const std::vector<Body> bodies = find_bodies(loop_kernel(body), 90);
  if (bodies.empty()) {
    ADD_FAILURE() << "no body";
    return {};
  }
  OrWhyNot<Products> products = find_products(bodies.front());
  if (products) return *products;
  ADD_FAILURE() << products.error();
  return {};
}

TEST(LoopProducts, OfTheSmallLoop) {
  const Products products = products_of(small_body());
  ASSERT_EQ(products.steps.size(), 2U);
  EXPECT_EQ(products.rows, 4U);
  EXPECT_EQ(products.columns, 4U);
  for (size_t s = 0; s < 2; ++s) {
    EXPECT_EQ(products.steps[s].loads, (std::vector<size_t>{2 * s, 2 * s + 1}));
    EXPECT_FALSE(products.steps[s].carried);
  }
  std::vector<int> sums = products.accumulators;
  std::ranges::sort(sums);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(sums[static_cast<size_t>(i)], kLoopSum + i);
}

TEST(LoopProducts, CarriedRoundTheLoop) {
  const Products products =
      products_of(joined({load_words(1), step_words(0), load_words(0), step_words(1)}));
  ASSERT_EQ(products.steps.size(), 2U);
  EXPECT_TRUE(products.steps[0].carried);
  EXPECT_FALSE(products.steps[1].carried);
}

// Each multiply-add of a loop belongs to one step, and in each step every pair of a row and a
// column is multiplied once.
TEST(LoopProducts, OfTheExamplesAreWhole) {
  size_t found = 0;
  for (const KernelWords& kernel : example_kernels()) {
    const int sm = kernel.machines.front();
    const std::vector<Body> bodies = find_bodies({.name = kernel.name, .words = kernel.words}, sm);
    if (bodies.empty()) continue;
    const Body& body = bodies.front();
    const OrWhyNot<Products> products = find_products(body);
    if (!products) {
      EXPECT_FALSE(products.error().empty());
      continue;
    }
    ++found;
    std::vector<int> times(body.ops.size(), 0);
    for (const Step& step : products->steps) {
      ASSERT_EQ(step.fmas.size(), products->rows * products->columns) << kernel.name;
      for (const size_t fma : step.fmas) ++times.at(fma);
      EXPECT_EQ(step.rows.size(), products->rows);
      EXPECT_EQ(step.columns.size(), products->columns);
    }
    for (size_t i = 0; i < body.ops.size(); ++i)
      EXPECT_EQ(times[i], is_plain_fma(body.ops[i]) ? 1 : 0) << kernel.name << " op " << i;
  }
  EXPECT_GT(found, 10U);
}

// A smaller loop is not taken in place of the steady one.
TEST(LoopBodies, AreOfTheSteadyLoopAlone) {
  Kernel kernel = loop_kernel(joined({load_words(0), step_words(0)}));
  EXPECT_EQ(find_bodies(kernel, 90).size(), 1U);
  std::vector<Word> larger = small_body();
  larger.push_back(word_of(0xfff));
  larger.push_back(bra(-static_cast<int>(larger.size()), 0));
  kernel.words.insert(kernel.words.begin() + 1, larger.begin(), larger.end());
  EXPECT_TRUE(find_bodies(kernel, 90).empty());
}

struct Refusal {
  const char* name;
  std::vector<Word> body;
  const char* says;
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}

std::vector<Word> changed(size_t at, Word word) {
  std::vector<Word> body = small_body();
  body[at] = word;
  return body;
}

std::vector<Word> inserted(size_t at, Word word) {
  std::vector<Word> body = small_body();
  body.insert(body.begin() + static_cast<ptrdiff_t>(at), word);
  return body;
}

std::vector<Word> without(size_t at) {
  std::vector<Word> body = small_body();
  body.erase(body.begin() + static_cast<ptrdiff_t>(at));
  return body;
}

// The first sum takes the second step first.
std::vector<Word> other_order() {
  std::vector<Word> body = small_body();
  std::swap(body[kFirstFma], body[kFirstFma + 16]);
  return body;
}

// In the second step each row takes the element of the next.
std::vector<Word> turned_rows() {
  std::vector<Word> body = small_body();
  for (int i = 0; i < 16; ++i) {
    const int sum = kLoopSum + i;
    body[kFirstFma + 16 + static_cast<size_t>(i)] =
        ffma(sum, kLoopRows[1] + (i / 4 + 1) % 4, kLoopColumns[1] + i % 4, sum);
  }
  return body;
}

// The second step multiplies the rows of the first.
std::vector<Word> shared_rows() {
  std::vector<Word> body = small_body();
  for (int i = 0; i < 16; ++i) {
    const int sum = kLoopSum + i;
    body[kFirstFma + 16 + static_cast<size_t>(i)] =
        ffma(sum, kLoopRows[0] + i / 4, kLoopColumns[1] + i % 4, sum);
  }
  return body;
}

// In both steps the first element of the first row is multiplied with the second column twice, and
// with the first never.
std::vector<Word> hole_in_each() {
  std::vector<Word> body = small_body();
  body[kFirstFma] = ffma(kLoopSum, kLoopRows[0], kLoopColumns[0] + 1, kLoopSum);
  body[kFirstFma + 16] = ffma(kLoopSum, kLoopRows[1], kLoopColumns[1] + 1, kLoopSum);
  return body;
}

// A fragment times itself: 16 sums of four elements.
std::vector<Word> square() {
  std::vector<Word> body = {lds(kLoopRows[0], kRowAddress, 0, 0)};
  for (int i = 0; i < 16; ++i)
    body.push_back(ffma(kLoopSum + i, kLoopRows[0] + i / 4, kLoopRows[0] + i % 4, kLoopSum + i));
  return body;
}

std::vector<Word> one_row() {
  std::vector<Word> body = load_words(0);
  for (int i = 0; i < 4; ++i)
    body.push_back(ffma(kLoopSum + i, kLoopRows[0], kLoopColumns[0] + i, kLoopSum + i));
  return body;
}

class LoopRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(LoopRefusals, AreSaid) {
  const std::string said = why_not(loop_kernel(GetParam().body));
  EXPECT_NE(said.find(GetParam().says), std::string::npos) << said;
}

const int kS = kLoopSum;

INSTANTIATE_TEST_SUITE_P(
    Made, LoopRefusals,
    testing::Values(
        Refusal{"two_blocks", inserted(kFirstFma, bra(2, 1)), "no loop of one block"},
        Refusal{"unknown", inserted(kFirstFma, word_of(0xfff)), "no loop of one block"},
        Refusal{"nothing_multiplied", load_words(0), "no loop of one block"},
        Refusal{"fragment_read", inserted(kFirstFma, add(50, 4)), "IADD3 reads R4, a fragment"},
        Refusal{"sum_read", inserted(kFirstFma + 32, add(50, kS + 3)), "IADD3 reads R35"},
        Refusal{"sum_moves", changed(kFirstFma + 16, ffma(50, 12, 16, kS)),
                "the sum in R32 moves to R50"},
        Refusal{"no_load", changed(kFirstFma, ffma(kS, 51, 8, kS)),
                "reads R51, which no fragment load brings"},
        Refusal{"twice", changed(kFirstFma + 1, ffma(kS + 1, 4, 9, kS)), "adds to R32"},
        Refusal{"goes_on_twice",
                joined({load_words(0), load_words(1), {ffma(50, 4, 8, kS), ffma(51, 4, 9, kS)}}),
                "two multiply-adds go on with R32"},
        Refusal{"no_sum", changed(kFirstFma + 16, ffma(kS, 12, 16, 8)), "adds to R8, which is no"},
        Refusal{"lengths", without(kFirstFma + 16), "sums of different lengths"},
        Refusal{"orders", other_order(), "steps of K in different orders"},
        Refusal{"a_hole", changed(kFirstFma, ffma(kS, 4, 9, kS)), "no outer product"},
        Refusal{"a_hole_in_each_step", hole_in_each(), "no outer product"},
        Refusal{"rows_turned", turned_rows(), "in different pieces"},
        Refusal{"rows_shared", shared_rows(), "one load feeds two steps"},
        Refusal{"square", square(), "a square of one fragment"},
        Refusal{"one_row", one_row(), "1x4 outer product"},
        Refusal{"two_trips", joined({{load_words(0)[0]}, step_words(0), {load_words(0)[1]}}),
                "fragments of two trips"},
        Refusal{"later_carried",
                joined({load_words(0), step_words(0), step_words(1), load_words(1)}),
                "a later step takes fragments of the trip before"},
        Refusal{"odd_carried", joined({step_words(0), load_words(0)}),
                "an odd number of steps, with fragments carried"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(LoopRefusals, TooFewRegisters) {
  EXPECT_NE(why_not(loop_kernel(small_body()), {.max_registers = 24}).find("registers are free"),
            std::string::npos);
}

// shapes_flat of the examples was such a loop: its rewriting was not proved.
TEST(LoopRefusals, AFragmentReadBehindTheLoop) {
  Kernel kernel = loop_kernel(small_body());
  const size_t behind = 2 + small_body().size() + 1;
  kernel.words.insert(kernel.words.begin() + static_cast<ptrdiff_t>(behind), add(kLoopSum, 17));
  EXPECT_EQ(why_not(kernel), "R17, a fragment, is read behind the loop too");
}

TEST(LoopRefusals, ABranchIntoTheLoop) {
  Kernel kernel = loop_kernel(small_body());
  kernel.words[0] = bra(6, 1);
  EXPECT_NE(why_not(kernel).find("no loop of one block"), std::string::npos);
}

}  // namespace
}  // namespace tilec::sass
