/* libtilec: f32 matrix multiplication on a GPU by kernels that tilec compiles on first use.
 *
 * Create a handle, call tilec_sgemm as one calls BLAS, destroy the handle. Kernels are chosen by
 * what tuning found for the device and the shape, else by a model, and are kept on disk, so that
 * they are compiled once. A handle may be used from several threads, one call at a time.
 *
 * Every function returns a status; tilec_last_error says in words what went wrong with the last
 * call of a handle. Nothing is thrown, and no signal is handled.
 */
#ifndef TILEC_H
#define TILEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tilec_context* tilec_handle;

typedef enum {
  TILEC_OK = 0,
  TILEC_INVALID_VALUE = 1, /* an argument is out of its range; nothing was done */
  TILEC_NO_DEVICE = 2,     /* no driver, or no GPU */
  TILEC_NO_MEMORY = 3,     /* the device's memory does not suffice; nothing was done */
  TILEC_DEVICE_FAILED = 4, /* the driver refused a call, or a kernel faulted */
  TILEC_INTERNAL = 5       /* a fault of libtilec's own */
} tilec_status;

typedef enum { TILEC_GPU = 0, TILEC_CPU = 1 /* executes the PTX: for tests, slow */ } tilec_device;
typedef enum { TILEC_ROW_MAJOR = 0, TILEC_COLUMN_MAJOR = 1 } tilec_order;
typedef enum { TILEC_NO_TRANSPOSE = 0, TILEC_TRANSPOSE = 1 } tilec_transpose;

/* Opens device `index` of its kind. On a GPU its primary context is used, the one of CUDA's
 * runtime. */
tilec_status tilec_create(tilec_handle* handle, tilec_device kind, int index);
void tilec_destroy(tilec_handle handle);

/* Where the launches of later calls are enqueued, a CUstream (or cudaStream_t); null: a stream of
 * the handle's own. Calls return before the work is done: tilec_synchronise waits for the handle's
 * own stream. */
tilec_status tilec_set_stream(tilec_handle handle, void* stream);
tilec_status tilec_synchronise(tilec_handle handle);

/* The folder of compiled kernels; empty: none is kept. Unless set, TILEC_CACHE, else tilec/kernels
 * in the user's cache folder. */
tilec_status tilec_set_cache(tilec_handle handle, const char* folder);

/* C = alpha * op(A) * op(B) + beta * C, where op(A) is m x k, op(B) k x n and C m x n, all in
 * device memory, stored in `order` with leading dimensions in elements. beta = 0 never reads C,
 * alpha = 0 neither A nor B. C must not overlap A or B. */
tilec_status tilec_sgemm(tilec_handle handle, tilec_order order, tilec_transpose trans_a,
                         tilec_transpose trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                         const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
                         float* c, int64_t ldc);

/* The same for `batch` matrices, each `stride` elements after the one before; a stride of 0 for A
 * or B uses one matrix for all. */
tilec_status tilec_sgemm_strided_batched(tilec_handle handle, tilec_order order,
                                         tilec_transpose trans_a, tilec_transpose trans_b,
                                         int64_t m, int64_t n, int64_t k, float alpha,
                                         const float* a, int64_t lda, int64_t stride_a,
                                         const float* b, int64_t ldb, int64_t stride_b, float beta,
                                         float* c, int64_t ldc, int64_t stride_c, int64_t batch);

/* The same for `batch` matrices at the addresses in three arrays in device memory. */
tilec_status tilec_sgemm_batched(tilec_handle handle, tilec_order order, tilec_transpose trans_a,
                                 tilec_transpose trans_b, int64_t m, int64_t n, int64_t k,
                                 float alpha, const float* const* a, int64_t lda,
                                 const float* const* b, int64_t ldb, float beta, float* const* c,
                                 int64_t ldc, int64_t batch);

/* Device memory, for programs that have no other way to it. Both copies wait. */
tilec_status tilec_malloc(tilec_handle handle, void** memory, size_t bytes);
tilec_status tilec_free(tilec_handle handle, void* memory);
tilec_status tilec_upload(tilec_handle handle, void* to, const void* from, size_t bytes);
tilec_status tilec_download(tilec_handle handle, void* to, const void* from, size_t bytes);

/* Never null; valid until the next call with the handle. A null handle: of the thread's last
 * tilec_create. */
const char* tilec_last_error(tilec_handle handle);
/* The completed spec of the kernel that the last call of the handle launched, and why it was
 * chosen; empty before. */
const char* tilec_last_spec(tilec_handle handle);
const char* tilec_last_choice(tilec_handle handle);
const char* tilec_status_name(tilec_status status);
const char* tilec_version(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
