// Random calls of libtilec: shapes down to 0 and 1, both orders of storage, transposes, leading
// dimensions and bases that nothing is aligned to, batches of both kinds, alpha and beta of 0. C
// holds NaN where beta is 0, A and B do where alpha is: whoever reads them shows it.
//
// Every call is judged by runtime/check: each element of C against float64 within the forward error
// bound, and every word that the call had no business writing. On a GPU cublasSgemm does the same
// call; it is judged alike, so that it is plain whose fault a difference is, and both results are
// compared within twice the bound.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "runtime/device.h"
#include "runtime/problem.h"
#include "tools/library/tilec.h"

namespace tilec::random_calls {

struct RandomCall {
  GemmProblem problem;  // as row-major matrices, completed
  tilec_order order = TILEC_ROW_MAJOR;
  std::array<int64_t, 3> apart = {};  // strided: words between one matrix's memory and the next's
  bool one_a = false;                 // strided: all of the batch multiply one A, by a stride of 0
  bool one_b = false;
};

/// Call `index` of the calls with this seed. Extents are at most `most`, but K now and then 16
/// times as much where M and N are small.
RandomCall random_call(uint64_t seed, int64_t index, int64_t most);
std::string describe(const RandomCall& call);
/// "sgemm", "strided" or "pointers"
std::string kind_of(const RandomCall& call);

/// A fault put into a call, to see that it is found: this leading dimension is 1 too small.
enum class Plant { none, lda, ldb, ldc };
/// Whether it makes a difference to the call.
bool can_show(Plant plant, const RandomCall& call);

struct CallResult {
  bool wrong = false;
  bool cublas_wrong = false;
  bool bit_equal = false;   // to cuBLAS
  double error = 0;         // largest |c - r| / bound, of ours; NaN if any element is
  double cublas_error = 0;  // the same of cuBLAS, of those of its results that are right
  double difference = 0;    // largest |c - cublas| / (2 bound), where both are right
  std::string words;        // what is wrong
  std::string cublas_words;
  std::string spec;  // of the kernel launched
};

class Caller {
 public:
  /// `cache`: the folder of compiled kernels. Errors: machine, where there is no device; on a GPU
  /// also where there is no cuBLAS.
  static Result<std::unique_ptr<Caller>> open(tilec_device kind, const std::string& cache);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// A call that libtilec refuses is wrong. Errors: those of the device.
  Result<CallResult> make(const RandomCall& call, Plant plant);

 private:
  struct Memory;
  Caller(tilec_handle handle, std::unique_ptr<Device> cublas);
  tilec_status multiply(const RandomCall& call, const KernelArguments& x) const;
  Result<void> judge(const RandomCall& call, const Memory& memory, CallResult& result) const;

  tilec_handle handle_;
  std::unique_ptr<Device> cublas_;  // null on the CPU
};

}  // namespace tilec::random_calls
