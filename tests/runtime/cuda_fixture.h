// A GPU whose driver, cuBLAS and NVML are fakes over host memory (fake_cuda/).
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "runtime/cuda/gpu.h"
#include "runtime/cuda/headers.h"
#include "tests/runtime/fake_cuda/fake_cuda.h"

namespace tilec::test {

using cuda::GpuOptions;
using cuda::open_gpu;

inline GpuOptions fake_options() {
  return {.driver_files = {TILEC_FAKE_CUDA},
          .cublas_files = {TILEC_FAKE_CUDA},
          .nvml_files = {TILEC_FAKE_CUDA}};
}

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (TILEC_HAS_CUDA_HEADERS == 0) GTEST_SKIP() << "cuda.h was not there";
    handle_ = dlopen(TILEC_FAKE_CUDA, RTLD_LAZY | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr) << dlerror();
    function<decltype(fake_reset)>("fake_reset")();
  }
  template <class Function>
  Function* function(const char* name) {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }
  void fail(const char* name, int status, int skip = 0) {
    function<decltype(fake_fail)>("fake_fail")(name, status, skip);
  }
  int calls(const char* name) { return function<decltype(fake_calls)>("fake_calls")(name); }
  int live() { return function<decltype(fake_live)>("fake_live")(); }

  // Opens the fake; what fails fails the test.
  std::unique_ptr<Device> opened() {
    Result<std::unique_ptr<Device>> gpu = open_gpu(fake_options());
    if (gpu) return std::move(*gpu);
    ADD_FAILURE() << dsl::render(gpu.error());
    return nullptr;
  }

 private:
  void* handle_ = nullptr;
};

inline std::string message_of(const dsl::Error& error) {
  return error.diagnostics.front().message;
}
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tilec::test
