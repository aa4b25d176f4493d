#include "tests/runtime/fake_cuda/fake_cuda.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/runtime/fake_cuda/state.h"

// The types of the binary interface, not of CUDA's header: what is tested is that the two agree.
using Pointer = unsigned long long;

namespace fake {

State& state() {
  static State it;
  return it;
}

int entered(const char* function) {
  ++state().calls[function];
  const auto found = state().failures.find(function);
  if (found == state().failures.end()) return 0;
  if (found->second.skip > 0) {
    --found->second.skip;
    return 0;
  }
  return found->second.status;
}

void enqueue(double us, std::function<void()> work) {
  auto timed = [us, work = std::move(work)] {
    work();
    state().now_us += us;
  };
  if (state().capturing)
    state().captured.launches.push_back(timed);
  else
    timed();
}

int text(char* to, unsigned size, const char* from) {
  std::strncpy(to, from, size);
  return 0;
}

}  // namespace fake

namespace {

using fake::enqueue;
using fake::entered;
using fake::state;
using fake::text;

float* floats(Pointer address) {
  return reinterpret_cast<float*>(address);
}

struct Gemm {
  Pointer a = 0, b = 0, c = 0;
  int m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  float alpha = 0, beta = 0;
};

[[maybe_unused]] void multiply(const Gemm& x) {
  for (int64_t row = 0; row < x.m; ++row)
    for (int64_t column = 0; column < x.n; ++column) {
      float acc = 0;
      for (int64_t k = 0; k < x.k; ++k)
        acc = std::fma(floats(x.a)[row * x.lda + k], floats(x.b)[k * x.ldb + column], acc);
      float& out = floats(x.c)[row * x.ldc + column];
      out = x.beta == 0 ? x.alpha * acc : std::fma(x.beta, out, x.alpha * acc);
    }
}

}  // namespace

extern "C" {

void fake_reset() {
  state().failures.clear();
  state().calls.clear();
}
void fake_fail(const char* function, int status, int skip) {
  state().failures[function] = {status, skip};
}
int fake_calls(const char* function) {
  return state().calls[function];
}
int fake_live() {
  return state().live;
}
int64_t fake_shared_bytes() {
  return state().shared_bytes;
}
int64_t fake_shared_limit_asked() {
  return state().shared_limit_asked;
}

// The driver.

int cuInit(unsigned) {
  return entered("cuInit");
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return entered("cuDriverGetVersion");
}
int cuGetErrorName(int status, const char** name) {
  *name = status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : status == 2 ? "CUDA_ERROR_OUT_OF_MEMORY"
                        : nullptr;
  return *name ? 0 : 1;
}
int cuGetErrorString(int status, const char** words) {
  *words = status == 700 ? "an illegal memory access was encountered"
           : status == 2 ? "out of memory"
                         : nullptr;
  return *words ? 0 : 1;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return entered("cuDeviceGetCount");
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return entered("cuDeviceGet");
}
int cuDeviceGetName(char* name, int size, int) {
  return text(name, unsigned(size), "Fake H200");
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{1} << 30;
  return 0;
}
int cuDeviceGetPCIBusId(char* id, int size, int) {
  return text(id, unsigned(size), "0000:01:00.0");
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  // Numbers of CUdevice_attribute.
  static const std::map<int, int> values = {{75, 9},       {76, 0},        {16, 132},
                                            {13, 1980000}, {38, 64 << 10}, {97, 227 << 10}};
  const auto found = values.find(attribute);
  if (found == values.end()) return 1;
  *value = found->second;
  return entered("cuDeviceGetAttribute");
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &state();
  const int status = entered("cuDevicePrimaryCtxRetain");
  if (status == 0) ++state().live;
  return status;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  --state().live;
  return 0;
}
int cuCtxSetCurrent(void*) {
  return entered("cuCtxSetCurrent");
}

int cuMemGetInfo_v2(size_t* free, size_t* all) {
  *all = size_t{1} << 30;
  *free = *all / 2;
  return entered("cuMemGetInfo_v2");
}
int cuMemAlloc_v2(Pointer* address, size_t bytes) {
  const int status = entered("cuMemAlloc_v2");
  if (status != 0) return status;
  *address = reinterpret_cast<Pointer>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  ++state().live;
  return 0;
}
int cuMemFree_v2(Pointer address) {
  std::free(reinterpret_cast<void*>(address));
  --state().live;
  return entered("cuMemFree_v2");
}
int cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t bytes, void*) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return entered("cuMemcpyHtoDAsync_v2");
}
int cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t bytes, void*) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return entered("cuMemcpyDtoHAsync_v2");
}
int cuMemsetD32Async(Pointer to, unsigned word, size_t words, void*) {
  for (size_t i = 0; i < words; ++i) reinterpret_cast<unsigned*>(to)[i] = word;
  return entered("cuMemsetD32Async");
}

// A module's image is text: PTX, or a "cubin" of the tests.
int cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options,
                       void** values) {
  const int status = entered("cuModuleLoadDataEx");
  for (unsigned i = 0; status != 0 && i < count; ++i)
    if (options[i] == 5)  // CU_JIT_ERROR_LOG_BUFFER
      std::strcpy(static_cast<char*>(values[i]), "ptxas fatal: line 7: planted");
  if (status != 0) return status;
  *module = new fake::Module{static_cast<const char*>(image)};
  ++state().live;
  return 0;
}
int cuModuleUnload(void* module) {
  delete static_cast<fake::Module*>(module);
  --state().live;
  return 0;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (static_cast<fake::Module*>(module)->image.find(name) == std::string::npos) return 500;
  *function = &(state().functions[name] = {name});
  return entered("cuModuleGetFunction");
}
int cuFuncSetAttribute(void*, int attribute, int value) {
  if (attribute == 8) state().shared_limit_asked = value;  // MAX_DYNAMIC_SHARED_SIZE_BYTES
  return entered("cuFuncSetAttribute");
}
int cuFuncGetAttribute(int* value, int attribute, void*) {
  *value = attribute == 4 ? 255 : 0;  // NUM_REGS
  return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int threads, size_t) {
  *blocks = 2048 / threads;  // of an SM with room for as many threads
  return 0;
}
#ifndef FAKE_WITHOUT_LAUNCH
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned, unsigned, unsigned shared_bytes, void*,
                   void** parameters, void**) {
  const int status = entered("cuLaunchKernel");
  if (status != 0) return status;
  state().shared_bytes = shared_bytes;
  const auto as = [&]<class Type>(int i, Type) { return *static_cast<Type*>(parameters[i]); };
  if (static_cast<fake::Function*>(function)->name == "axpy") {  // of examples/axpy.ptx
    const unsigned n = as(0, unsigned{});
    const float a = as(1, float{});
    float* x = floats(as(2, Pointer{}));
    float* y = floats(as(3, Pointer{}));
    const unsigned threads = grid_x * grid_y * grid_z * block_x;
    for (unsigned i = 0; i < std::min(n, threads); ++i) y[i] = std::fma(a, x[i], y[i]);
    return 0;
  }
  if (static_cast<fake::Function*>(function)->name != "naive") return 1;
  const Gemm gemm{as(0, Pointer{}), as(1, Pointer{}), as(2, Pointer{}), as(3, int{}),
                  as(4, int{}),     as(5, int{}),     as(6, int64_t{}), as(7, int64_t{}),
                  as(8, int64_t{}), as(9, float{}),   as(10, float{})};
  const unsigned blocks = unsigned((gemm.m + 15) / 16) * unsigned((gemm.n + 15) / 16);
  const bool right_grid = grid_x == blocks && grid_y == 1 && grid_z == 1 && block_x == 256;
  if (!right_grid) return 1;
  enqueue(10, [gemm] { multiply(gemm); });
  return 0;
}
#endif

int cuStreamCreate(void** stream, unsigned) {
  *stream = &state();
  ++state().live;
  return entered("cuStreamCreate");
}
int cuStreamSynchronize(void*) {
  return entered("cuStreamSynchronize");
}
int cuStreamDestroy_v2(void*) {
  --state().live;
  return 0;
}
int cuStreamBeginCapture_v2(void*, int) {
  if (state().capturing) return 901;
  state().capturing = true;
  state().captured = {};
  return entered("cuStreamBeginCapture_v2");
}
int cuStreamEndCapture(void*, void** graph) {
  if (!state().capturing) return 904;
  state().capturing = false;
  *graph = new fake::Graph(std::move(state().captured));
  ++state().live;
  return entered("cuStreamEndCapture");
}
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  const int status = entered("cuGraphInstantiateWithFlags");
  if (status != 0) return status;
  *executable = new fake::Graph(*static_cast<fake::Graph*>(graph));
  ++state().live;
  return 0;
}
int cuGraphLaunch(void* executable, void*) {
  for (const auto& launch : static_cast<fake::Graph*>(executable)->launches) launch();
  return entered("cuGraphLaunch");
}
int cuGraphDestroy(void* graph) {
  delete static_cast<fake::Graph*>(graph);
  --state().live;
  return 0;
}
int cuGraphExecDestroy(void* executable) {
  return cuGraphDestroy(executable);
}

int cuEventCreate(void** event, unsigned) {
  *event = new fake::Event;
  ++state().live;
  return entered("cuEventCreate");
}
int cuEventRecord(void* event, void*) {
  static_cast<fake::Event*>(event)->us = state().now_us;
  return entered("cuEventRecord");
}
int cuEventSynchronize(void*) {
  return entered("cuEventSynchronize");
}
int cuEventElapsedTime(float* ms, void* start, void* stop) {
  *ms = float((static_cast<fake::Event*>(stop)->us - static_cast<fake::Event*>(start)->us) / 1e3);
  return entered("cuEventElapsedTime");
}
int cuEventDestroy_v2(void* event) {
  delete static_cast<fake::Event*>(event);
  --state().live;
  return 0;
}

}  // extern "C"
