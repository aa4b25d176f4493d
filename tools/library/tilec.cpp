// The C interface: arguments are looked at, failures become a status and words.
#include "tools/library/tilec.h"

#include <fmt/format.h>

#include <bit>
#include <exception>

#include "tools/library/context.h"

namespace {

using namespace tilec;

thread_local std::string create_error;  // of the last tilec_create of this thread

tilec_status status_of(const dsl::Error& error) {
  const std::string& code = error.diagnostics.front().code;
  if (code == "no-driver" || code == "no-gpu" || code == "no-cuda-support" || code == "bad-driver")
    return TILEC_NO_DEVICE;
  if (code == "not-enough-memory") return TILEC_NO_MEMORY;
  switch (error.road) {
    case dsl::Road::user:
      return TILEC_INVALID_VALUE;
    case dsl::Road::check:
    case dsl::Road::machine:
      return TILEC_DEVICE_FAILED;
    case dsl::Road::internal:
      return TILEC_INTERNAL;
  }
  return TILEC_INTERNAL;
}

// Does `work` with the handle held; nothing that it throws leaves the library.
template <class Work>
tilec_status guarded(tilec_handle handle, const Work& work) {
  if (handle == nullptr) return TILEC_INVALID_VALUE;
  const std::scoped_lock hold(handle->mutex);
  try {
    const Result<void> done = work();
    handle->last_error = done ? "" : dsl::render(done.error());
    return done ? TILEC_OK : status_of(done.error());
  } catch (const std::exception& error) {
    handle->last_error = error.what();
    return TILEC_INTERNAL;
  }
}

tl::unexpected<dsl::Error> invalid(const std::string& message) {
  return tl::unexpected(dsl::Error::user("invalid-value", message));
}

Address address_of(const void* pointer) {
  return std::bit_cast<Address>(pointer);
}

// One operand as the caller gives it.
struct Given {
  tilec_transpose trans;
  const void* data;
  int64_t ld;
  int64_t stride;
};

struct Extents {
  int64_t m, n, k;
};

bool is_known(tilec_transpose trans) {
  return trans == TILEC_NO_TRANSPOSE || trans == TILEC_TRANSPOSE;
}

Result<void> check(tilec_order order, const Extents& e, const Given& a, const Given& b,
                   const Given& c, int64_t batch) {
  if (order != TILEC_ROW_MAJOR && order != TILEC_COLUMN_MAJOR)
    return invalid(fmt::format("order is {}", static_cast<int>(order)));
  if (!is_known(a.trans) || !is_known(b.trans))
    return invalid("a transposition is neither of the two");
  if (e.m < 0 || e.n < 0 || e.k < 0)
    return invalid(fmt::format("m, n and k are {}, {} and {}: below 0", e.m, e.n, e.k));
  if (batch < 0) return invalid(fmt::format("a batch of {}", batch));
  const bool rows = order == TILEC_ROW_MAJOR;
  const auto length = [&](const Given& g, int64_t down, int64_t across) {
    const bool turned = g.trans == TILEC_TRANSPOSE;
    return (rows != turned) ? across : down;  // of a stored row, or column
  };
  const std::pair<const Given*, int64_t> lengths[] = {
      {&a, length(a, e.m, e.k)}, {&b, length(b, e.k, e.n)}, {&c, length(c, e.m, e.n)}};
  const char* names = "ABC";
  for (const auto& [given, least] : lengths) {
    const char name = *names++;
    if (given->ld < std::max<int64_t>(1, least))
      return invalid(
          fmt::format("the leading dimension of {} is {}, and its stored {} have {} "
                      "elements",
                      name, given->ld, rows ? "rows" : "columns", least));
    if (given->stride < 0) return invalid(fmt::format("the stride of {} is below 0", name));
    if (given->data == nullptr && least > 0 && e.m > 0 && e.n > 0 && (name == 'C' || e.k > 0))
      return invalid(fmt::format("{} is null", name));
    if (address_of(given->data) % sizeof(float) != 0)
      return invalid(fmt::format("{} is not aligned to an element", name));
  }
  return {};
}

tilec_status multiply(tilec_handle handle, tilec_order order, const Extents& e, float alpha,
                      Given a, Given b, float beta, const Given& c, int64_t batch,
                      dsl::Batch batched) {
  return guarded(handle, [&]() -> Result<void> {
    const Result<void> checked = check(order, e, a, b, c, batch);
    if (!checked) return checked;
    if (batched == dsl::Batch::strided && c.stride == 0 && batch > 1)
      return invalid("the stride of C is 0: all matrices of the batch would be one");
    if (batch == 0 || e.m == 0 || e.n == 0) return {};
    Extents rows = e;
    if (order == TILEC_COLUMN_MAJOR) {  // C^T = op(B)^T op(A)^T
      std::swap(a, b);
      std::swap(rows.m, rows.n);
    }
    // Where the addresses stand in an allocation does not matter, only what they are aligned to.
    const auto offset = [&](const Given& g) {
      constexpr Address kElements = 64;
      return batched == dsl::Batch::pointers
                 ? 1  // of each matrix nothing is known
                 : static_cast<int64_t>(
                       (address_of(g.data) / sizeof(float) | static_cast<Address>(g.stride)) %
                       kElements);
    };
    Call call;
    call.problem = {.shape = {rows.m, rows.n, rows.k},
                    .layout = {a.trans == TILEC_TRANSPOSE, b.trans == TILEC_TRANSPOSE},
                    .lda = a.ld,
                    .ldb = b.ld,
                    .ldc = c.ld,
                    .alpha = alpha,
                    .beta = beta,
                    .offset_a = offset(a),
                    .offset_b = offset(b),
                    .offset_c = offset(c),
                    .batch = batch,
                    .batched = batched};
    call.arguments = {.a = address_of(a.data),
                      .b = address_of(b.data),
                      .c = address_of(c.data),
                      .m = rows.m,
                      .n = rows.n,
                      .k = rows.k,
                      .lda = a.ld,
                      .ldb = b.ld,
                      .ldc = c.ld,
                      .alpha = alpha,
                      .beta = beta,
                      .batch = batch,
                      .stride_a = a.stride,
                      .stride_b = b.stride,
                      .stride_c = c.stride};
    call.checks_overlap = batched != dsl::Batch::pointers;
    return handle->multiply(std::move(call));
  });
}

}  // namespace

extern "C" {

tilec_status tilec_create(tilec_handle* handle, tilec_device kind, int index) {
  if (handle == nullptr || (kind != TILEC_GPU && kind != TILEC_CPU)) {
    create_error = "the handle is null, or the kind of device is none";
    return TILEC_INVALID_VALUE;
  }
  *handle = nullptr;
  try {
    Result<std::unique_ptr<tilec_context>> opened = tilec_context::open(kind, index);
    if (opened) {
      create_error.clear();
      *handle = opened->release();
      return TILEC_OK;
    }
    create_error = dsl::render(opened.error());
    return status_of(opened.error());
  } catch (const std::exception& error) {
    create_error = error.what();
    return TILEC_INTERNAL;
  }
}

void tilec_destroy(tilec_handle handle) {
  delete handle;
}

tilec_status tilec_set_stream(tilec_handle handle, void* stream) {
  return guarded(handle, [&]() -> Result<void> {
    handle->set_stream(stream);
    return {};
  });
}

tilec_status tilec_synchronise(tilec_handle handle) {
  return guarded(handle, [&] { return handle->device().synchronise(); });
}

tilec_status tilec_set_cache(tilec_handle handle, const char* folder) {
  return guarded(handle, [&]() -> Result<void> {
    handle->set_cache(folder == nullptr ? "" : folder);
    return {};
  });
}

tilec_status tilec_sgemm(tilec_handle handle, tilec_order order, tilec_transpose trans_a,
                         tilec_transpose trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                         const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
                         float* c, int64_t ldc) {
  return multiply(handle, order, {m, n, k}, alpha, {trans_a, a, lda, 0}, {trans_b, b, ldb, 0}, beta,
                  {TILEC_NO_TRANSPOSE, c, ldc, 0}, 1, dsl::Batch::none);
}

tilec_status tilec_sgemm_strided_batched(tilec_handle handle, tilec_order order,
                                         tilec_transpose trans_a, tilec_transpose trans_b,
                                         int64_t m, int64_t n, int64_t k, float alpha,
                                         const float* a, int64_t lda, int64_t stride_a,
                                         const float* b, int64_t ldb, int64_t stride_b, float beta,
                                         float* c, int64_t ldc, int64_t stride_c, int64_t batch) {
  return multiply(handle, order, {m, n, k}, alpha, {trans_a, a, lda, stride_a},
                  {trans_b, b, ldb, stride_b}, beta, {TILEC_NO_TRANSPOSE, c, ldc, stride_c}, batch,
                  dsl::Batch::strided);
}

tilec_status tilec_sgemm_batched(tilec_handle handle, tilec_order order, tilec_transpose trans_a,
                                 tilec_transpose trans_b, int64_t m, int64_t n, int64_t k,
                                 float alpha, const float* const* a, int64_t lda,
                                 const float* const* b, int64_t ldb, float beta, float* const* c,
                                 int64_t ldc, int64_t batch) {
  return multiply(handle, order, {m, n, k}, alpha, {trans_a, a, lda, 0}, {trans_b, b, ldb, 0}, beta,
                  {TILEC_NO_TRANSPOSE, c, ldc, 0}, batch, dsl::Batch::pointers);
}

tilec_status tilec_malloc(tilec_handle handle, void** memory, size_t bytes) {
  return guarded(handle, [&]() -> Result<void> {
    if (memory == nullptr) return invalid("there is no place for the address");
    const Result<Address> address = handle->device().allocate(static_cast<int64_t>(bytes));
    if (!address) return tl::unexpected(address.error());
    *memory = std::bit_cast<void*>(*address);
    return {};
  });
}

tilec_status tilec_free(tilec_handle handle, void* memory) {
  return guarded(handle, [&] { return handle->device().free(address_of(memory)); });
}

tilec_status tilec_upload(tilec_handle handle, void* to, const void* from, size_t bytes) {
  return guarded(handle, [&] {
    return handle->device().upload(address_of(to), {static_cast<const std::byte*>(from), bytes});
  });
}

tilec_status tilec_download(tilec_handle handle, void* to, const void* from, size_t bytes) {
  return guarded(handle, [&] {
    return handle->device().download({static_cast<std::byte*>(to), bytes}, address_of(from));
  });
}

const char* tilec_last_error(tilec_handle handle) {
  return handle == nullptr ? create_error.c_str() : handle->last_error.c_str();
}

const char* tilec_last_spec(tilec_handle handle) {
  return handle == nullptr ? "" : handle->last_spec.c_str();
}

const char* tilec_last_choice(tilec_handle handle) {
  return handle == nullptr ? "" : handle->last_choice.c_str();
}

const char* tilec_status_name(tilec_status status) {
  switch (status) {
    case TILEC_OK:
      return "ok";
    case TILEC_INVALID_VALUE:
      return "invalid value";
    case TILEC_NO_DEVICE:
      return "no device";
    case TILEC_NO_MEMORY:
      return "not enough memory";
    case TILEC_DEVICE_FAILED:
      return "the device failed";
    case TILEC_INTERNAL:
      return "internal error";
  }
  return "unknown status";
}

const char* tilec_version(void) {
  return TILEC_VERSION;
}

}  // extern "C"
