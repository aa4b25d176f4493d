#include "tests/library/random_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/check.h"
#include "runtime/cuda/gpu.h"
#include "runtime/faults.h"
#include "runtime/operands.h"
#include "runtime/random.h"
#include "runtime/try.h"
#include "tools/library/context.h"

namespace tilec::random_calls {
namespace {

// Numbers that depend on the call alone.
class Dice {
 public:
  Dice(uint64_t seed, int64_t index) : seed_(random_bits(seed, static_cast<uint64_t>(index))) {}
  int64_t below(int64_t count) {
    return static_cast<int64_t>(random_bits(seed_, next_++) % static_cast<uint64_t>(count));
  }
  bool one_in(int64_t count) { return below(count) == 0; }
  template <class List>
  auto pick(const List& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(std::size(list))))];
  }

 private:
  uint64_t seed_;
  uint64_t next_ = 0;
};

int64_t random_extent(Dice& dice, int64_t most) {
  if (dice.one_in(8)) return dice.one_in(3) ? 0 : 1;
  if (!dice.one_in(3)) return 1 + dice.below(most);
  const int powers = std::bit_width(static_cast<uint64_t>(most));
  return std::min(most, (int64_t{1} << dice.below(powers)) + dice.below(3) - 1);
}

constexpr Operand kOperands[] = {Operand::a, Operand::b, Operand::c};

size_t number_of(Operand operand) {
  return static_cast<size_t>(operand);
}

const Image& image_of(const Operands& operands, Operand operand) {
  return operand == Operand::a ? operands.a : operand == Operand::b ? operands.b : operands.c;
}

// With alpha = 0 there is no product.
GemmProblem judged_problem(const RandomCall& call) {
  GemmProblem problem = call.problem;
  if (problem.alpha == 0) problem.shape.k = 0;
  return problem;
}

std::vector<Operands> make_matrices(const RandomCall& call, bool guarded) {
  std::vector<Operands> out;
  for (int64_t i = 0; i < call.problem.batch; ++i) {
    GemmProblem one = call.problem;
    one.seed += static_cast<uint64_t>(i);
    out.push_back(make_operands(one, call.problem.beta != 0, guarded));
    if (call.one_a) out.back().a = out.front().a.copy();
    if (call.one_b) out.back().b = out.front().b.copy();
    if (call.problem.alpha != 0) continue;
    std::ranges::fill(out.back().a.all(), std::numeric_limits<float>::quiet_NaN());
    std::ranges::fill(out.back().b.all(), std::numeric_limits<float>::quiet_NaN());
  }
  return out;
}

std::string findings(const CheckResult& check) {
  std::string out = fmt::format("{} of {} elements wrong", check.failed, check.checked);
  if (!check.failures.empty()) {
    const Failure& first = check.failures.front();
    out += fmt::format(", the first C[{}, {}]: {} for {} within {}", first.row, first.column,
                       first.got, first.expected, first.bound);
  }
  if (check.touched.count > 0)
    out += fmt::format(", {} words written outside C, the first {}: {}", check.touched.count,
                       operand_letter(check.touched.first.front().operand),
                       check.touched.first.front().where);
  return out;
}

double larger(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

}  // namespace

RandomCall random_call(uint64_t seed, int64_t index, int64_t most) {
  Dice dice(seed, index);
  RandomCall call;
  GemmProblem& problem = call.problem;
  const bool is_long = dice.one_in(8);
  const int64_t most_c = is_long ? std::min<int64_t>(most, 64) : most;
  problem.shape.m = random_extent(dice, most_c);
  problem.shape.n = random_extent(dice, most_c);
  problem.shape.k = random_extent(dice, is_long ? 16 * most : most);
  problem.layout = {.a_transposed = dice.one_in(2), .b_transposed = dice.one_in(2)};
  constexpr float kAlphas[] = {1, 1, 0, -0.5F, 2.25F};
  constexpr float kBetas[] = {0, 0, 1, -0.5F, 3};
  problem.alpha = dice.pick(kAlphas);
  problem.beta = dice.pick(kBetas);
  constexpr int64_t kPads[] = {0, 0, 1, 2, 3, 5, 8};
  for (auto [operand, ld] :
       {std::pair{Operand::a, &problem.lda}, std::pair{Operand::b, &problem.ldb},
        std::pair{Operand::c, &problem.ldc}})
    *ld = std::max<int64_t>(1, stored(problem, operand).columns) + dice.pick(kPads);
  constexpr int64_t kOffsets[] = {0, 0, 0, 1, 2, 3, 4};
  for (int64_t* offset : {&problem.offset_a, &problem.offset_b, &problem.offset_c})
    *offset = dice.pick(kOffsets);
  problem.seed = random_bits(seed, static_cast<uint64_t>(index)) >> 8;
  call.order = dice.one_in(2) ? TILEC_ROW_MAJOR : TILEC_COLUMN_MAJOR;
  if (dice.one_in(2)) return call;
  problem.batched = dice.one_in(2) ? dsl::Batch::strided : dsl::Batch::pointers;
  problem.batch = 1 + dice.below(4);
  if (problem.batched == dsl::Batch::pointers) return call;
  for (int64_t& words : call.apart) words = dice.below(6);
  call.one_a = dice.one_in(4);
  call.one_b = dice.one_in(4);
  return call;
}

std::string kind_of(const RandomCall& call) {
  switch (call.problem.batched) {
    case dsl::Batch::none:
      return "sgemm";
    case dsl::Batch::strided:
      return "strided";
    case dsl::Batch::pointers:
      return "pointers";
  }
  return "";
}

std::string describe(const RandomCall& call) {
  const GemmProblem& p = call.problem;
  return fmt::format(
      "{} of {} at {}, {}{}, {}, alpha {}, beta {}, leading dimensions {} {} {}, offsets {} {} {}, "
      "apart {} {} {}{}{}",
      kind_of(call), p.batch, to_string(p.shape), p.layout.a_transposed ? 't' : 'n',
      p.layout.b_transposed ? 't' : 'n',
      call.order == TILEC_ROW_MAJOR ? "row-major" : "column-major", p.alpha, p.beta, p.lda, p.ldb,
      p.ldc, p.offset_a, p.offset_b, p.offset_c, call.apart[0], call.apart[1], call.apart[2],
      call.one_a ? ", one A" : "", call.one_b ? ", one B" : "");
}

bool can_show(Plant plant, const RandomCall& call) {
  if (plant == Plant::none) return false;
  const Operand operand = plant == Plant::lda   ? Operand::a
                          : plant == Plant::ldb ? Operand::b
                                                : Operand::c;
  const GemmProblem judged = judged_problem(call);
  const auto& [m, n, k] = judged.shape;
  if (m == 0 || n == 0 || (operand != Operand::c && k == 0)) return false;
  const Stored matrix = stored(call.problem, operand);
  return matrix.rows > 1 && matrix.ld > matrix.columns;
}

// The operands of a call in the device's memory, one matrix after the other.
struct Caller::Memory {
  std::vector<Operands> before;
  std::array<Buffer, 3> buffers;
  std::array<Buffer, 3> addresses;  // by pointers
  std::array<int64_t, 3> strides = {};
  KernelArguments arguments;

  static Result<Memory> place(Device& device, const RandomCall& call);
  Address at(Operand operand, int64_t index) const {
    const size_t number = number_of(operand);
    return buffers[number].address() +
           static_cast<Address>(index * strides[number]) * sizeof(float);
  }
  Result<void> upload(Device& device, Operand operand) const {
    for (size_t i = 0; i < before.size(); ++i) {
      const Image& image = image_of(before[i], operand);
      if (image.words() > 0)
        TILEC_TRY(device.upload(at(operand, static_cast<int64_t>(i)), std::as_bytes(image.all())));
    }
    return {};
  }
  Result<Operands> download(Device& device, size_t index) const {
    Operands out{before[index].a.same_layout(), before[index].b.same_layout(),
                 before[index].c.same_layout()};
    for (auto [operand, image] : {std::pair{Operand::a, &out.a}, std::pair{Operand::b, &out.b},
                                  std::pair{Operand::c, &out.c}})
      if (image->words() > 0)
        TILEC_TRY(device.download(std::as_writable_bytes(image->all()),
                                  at(operand, static_cast<int64_t>(index))));
    return out;
  }
};

Result<Caller::Memory> Caller::Memory::place(Device& device, const RandomCall& call) {
  Memory out;
  const GemmProblem& problem = call.problem;
  // The matrices of a batch share an allocation, whose bounds are not theirs.
  out.before = make_matrices(call, !device.info().knows_bounds || problem.batch > 1);
  std::array<Address, 3> first = {};
  for (const Operand operand : kOperands) {
    const size_t number = number_of(operand);
    const Image& image = image_of(out.before.front(), operand);
    out.strides[number] = image.words() + call.apart[number];
    Result<Buffer> buffer = Buffer::allocate(
        device, problem.batch * out.strides[number] * static_cast<int64_t>(sizeof(float)));
    if (!buffer) return tl::unexpected(std::move(buffer.error()));
    out.buffers[number] = std::move(*buffer);
    TILEC_TRY(out.upload(device, operand));
    const Address element = static_cast<Address>(image.first()) * sizeof(float);
    first[number] = out.at(operand, 0) + element;
    if (problem.batched != dsl::Batch::pointers) continue;
    std::vector<Address> list;
    for (int64_t i = 0; i < problem.batch; ++i) list.push_back(out.at(operand, i) + element);
    const auto bytes = std::as_bytes(std::span<const Address>(list));
    Result<Buffer> array = Buffer::allocate(device, static_cast<int64_t>(bytes.size()));
    if (!array) return tl::unexpected(std::move(array.error()));
    out.addresses[number] = std::move(*array);
    first[number] = out.addresses[number].address();
    TILEC_TRY(device.upload(first[number], bytes));
  }
  out.arguments = {.a = first[0],
                   .b = first[1],
                   .c = first[2],
                   .m = problem.shape.m,
                   .n = problem.shape.n,
                   .k = problem.shape.k,
                   .lda = problem.lda,
                   .ldb = problem.ldb,
                   .ldc = problem.ldc,
                   .alpha = problem.alpha,
                   .beta = problem.beta,
                   .batch = problem.batch,
                   .stride_a = call.one_a ? 0 : out.strides[0],
                   .stride_b = call.one_b ? 0 : out.strides[1],
                   .stride_c = out.strides[2]};
  return out;
}

Caller::Caller(tilec_handle handle, std::unique_ptr<Device> cublas)
    : handle_(handle), cublas_(std::move(cublas)) {}

Caller::~Caller() {
  tilec_destroy(handle_);
}

Result<std::unique_ptr<Caller>> Caller::open(tilec_device kind, const std::string& cache) {
  tilec_handle handle = nullptr;
  if (tilec_create(&handle, kind, 0) != TILEC_OK)
    return tl::unexpected(dsl::Error::machine("no-device", tilec_last_error(nullptr)));
  std::unique_ptr<Caller> caller(new Caller(handle, nullptr));
  tilec_set_cache(handle, cache.c_str());
  if (kind == TILEC_CPU) return caller;
  Result<std::unique_ptr<Device>> gpu = cuda::open_gpu({});
  if (!gpu) return tl::unexpected(std::move(gpu.error()));
  if ((*gpu)->info().cublas.empty())
    return refuse(Fault::no_cublas, fmt::format("{}", fmt::join((*gpu)->info().missing, "; ")));
  caller->cublas_ = std::move(*gpu);
  return caller;
}

tilec_status Caller::multiply(const RandomCall& call, const KernelArguments& x) const {
  struct Side {
    tilec_transpose trans;
    Address data;
    int64_t ld, stride;
  };
  const dsl::OperandLayout layout = call.problem.layout;
  Side a{layout.a_transposed ? TILEC_TRANSPOSE : TILEC_NO_TRANSPOSE, x.a, x.lda, x.stride_a};
  Side b{layout.b_transposed ? TILEC_TRANSPOSE : TILEC_NO_TRANSPOSE, x.b, x.ldb, x.stride_b};
  int64_t m = x.m;
  int64_t n = x.n;
  if (call.order == TILEC_COLUMN_MAJOR) {  // the same memory is C^T = op(B)^T op(A)^T
    std::swap(a, b);
    std::swap(m, n);
  }
  const auto in = [](Address at) { return std::bit_cast<const float*>(at); };
  const auto list = [](Address at) { return std::bit_cast<const float* const*>(at); };
  switch (call.problem.batched) {
    case dsl::Batch::none:
      return tilec_sgemm(handle_, call.order, a.trans, b.trans, m, n, x.k, x.alpha, in(a.data),
                         a.ld, in(b.data), b.ld, x.beta, std::bit_cast<float*>(x.c), x.ldc);
    case dsl::Batch::strided:
      return tilec_sgemm_strided_batched(handle_, call.order, a.trans, b.trans, m, n, x.k, x.alpha,
                                         in(a.data), a.ld, a.stride, in(b.data), b.ld, b.stride,
                                         x.beta, std::bit_cast<float*>(x.c), x.ldc, x.stride_c,
                                         x.batch);
    case dsl::Batch::pointers:
      return tilec_sgemm_batched(handle_, call.order, a.trans, b.trans, m, n, x.k, x.alpha,
                                 list(a.data), a.ld, list(b.data), b.ld, x.beta,
                                 std::bit_cast<float* const*>(x.c), x.ldc, x.batch);
  }
  return TILEC_INTERNAL;
}

// `memory` holds what libtilec made of C.
Result<void> Caller::judge(const RandomCall& call, const Memory& memory, CallResult& result) const {
  Device& device = handle_->device();
  const GemmProblem problem = judged_problem(call);
  const dsl::Extent tile{64, 64};
  const CheckOptions options{.budget = (int64_t{1} << 28) / problem.batch};
  const auto check = [&](size_t i, const Operands& after) {
    return check_result(problem, dsl::default_epilogue(), tile, memory.before[i], after, options);
  };
  std::vector<Image> ours;
  for (size_t i = 0; i < memory.before.size(); ++i) {
    Result<Operands> after = memory.download(device, i);
    if (!after) return tl::unexpected(std::move(after.error()));
    const CheckResult checked = check(i, *after);
    result.error = larger(checked.max_error, result.error);
    if (!checked.passed) {
      result.wrong = true;
      result.words += fmt::format("matrix {}: {}; ", i, findings(checked));
    }
    ours.push_back(std::move(after->c));
  }
  if (cublas_ == nullptr || call.problem.shape.m == 0 || call.problem.shape.n == 0) return {};
  TILEC_TRY(memory.upload(device, Operand::c));
  TILEC_TRY(cublas_->cublas(call.problem.layout, call.problem.batched, memory.arguments));
  result.bit_equal = true;
  for (size_t i = 0; i < memory.before.size(); ++i) {
    Result<Operands> after = memory.download(device, i);
    if (!after) return tl::unexpected(std::move(after.error()));
    const CheckResult checked = check(i, *after);
    if (!checked.passed) {
      // No measure of ours, then.
      result.cublas_wrong = true;
      result.bit_equal = false;
      result.cublas_words += fmt::format("matrix {} of cuBLAS: {}; ", i, findings(checked));
      continue;
    }
    const CublasComparison compared =
        compare_with_cublas(problem, memory.before[i], ours[i], after->c);
    result.cublas_error = larger(checked.max_error, result.cublas_error);
    result.bit_equal = result.bit_equal && compared.bit_equal;
    if (result.wrong) continue;
    result.difference = larger(compared.max_error, result.difference);
    if (compared.passed) continue;
    // Neither was seen to be wrong against float64, and they cannot both be right.
    result.wrong = true;
    result.words +=
        fmt::format("matrix {}: {} of twice the bound from cuBLAS; ", i, compared.max_error);
  }
  return {};
}

Result<CallResult> Caller::make(const RandomCall& call, Plant plant) {
  CallResult result;
  const Result<Memory> memory = Memory::place(handle_->device(), call);
  if (!memory) return tl::unexpected(memory.error());
  KernelArguments planted = memory->arguments;
  if (can_show(plant, call)) {
    planted.lda -= plant == Plant::lda ? 1 : 0;
    planted.ldb -= plant == Plant::ldb ? 1 : 0;
    planted.ldc -= plant == Plant::ldc ? 1 : 0;
  }
  const tilec_status status = multiply(call, planted);
  if (status == TILEC_OK) TILEC_TRY(handle_->device().synchronise());
  result.spec = tilec_last_spec(handle_);
  if (status != TILEC_OK) {
    result.wrong = true;
    result.words = fmt::format("{}: {}", tilec_status_name(status), tilec_last_error(handle_));
    return result;
  }
  TILEC_TRY(judge(call, *memory, result));
  return result;
}

}  // namespace tilec::random_calls
