// libtilec for C++: the handle as a value, failures as exceptions. All of it is inline over
// tilec.h.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "tilec.h"

namespace tilec::blas {

class Error : public std::runtime_error {
 public:
  Error(tilec_status status, const std::string& words)
      : std::runtime_error(std::string(tilec_status_name(status)) + ": " + words),
        status_(status) {}
  tilec_status status() const { return status_; }

 private:
  tilec_status status_;
};

class Handle {
 public:
  explicit Handle(tilec_device kind = TILEC_GPU, int index = 0) {
    const tilec_status status = tilec_create(&handle_, kind, index);
    if (status != TILEC_OK) throw Error(status, tilec_last_error(nullptr));
  }
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() { tilec_destroy(handle_); }

  tilec_handle get() const { return handle_; }
  void set_stream(void* stream) { check(tilec_set_stream(handle_, stream)); }
  void synchronise() { check(tilec_synchronise(handle_)); }
  std::string last_spec() const { return tilec_last_spec(handle_); }
  std::string last_choice() const { return tilec_last_choice(handle_); }

  void sgemm(tilec_order order, tilec_transpose trans_a, tilec_transpose trans_b, int64_t m,
             int64_t n, int64_t k, float alpha, const float* a, int64_t lda, const float* b,
             int64_t ldb, float beta, float* c, int64_t ldc) {
    check(tilec_sgemm(handle_, order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c,
                      ldc));
  }
  /// Throws what a call's status says.
  void check(tilec_status status) const {
    if (status != TILEC_OK) throw Error(status, tilec_last_error(handle_));
  }

 private:
  tilec_handle handle_ = nullptr;
};

}  // namespace tilec::blas
