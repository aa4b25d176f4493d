#include <gtest/gtest.h>

#include "tests/runtime/gemm_on_host.h"

namespace tilec::test {
namespace {

constexpr const char* kNaivePtx = R"(
.version 7.0
.target sm_80
.address_size 64

.visible .entry naive(
  .param .u64 p_a, .param .u64 p_b, .param .u64 p_c,
  .param .u32 p_m, .param .u32 p_n, .param .u32 p_k,
  .param .u64 p_lda, .param .u64 p_ldb, .param .u64 p_ldc,
  .param .f32 p_alpha, .param .f32 p_beta)
{
  .reg .pred %p<4>;
  .reg .f32 %f<8>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<20>;

  ld.param.u32 %r1, [p_m];
  ld.param.u32 %r2, [p_n];
  ld.param.u32 %r3, [p_k];
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %tid.x;
  add.s32 %r6, %r2, 15;
  shr.u32 %r6, %r6, 4;
  div.u32 %r7, %r4, %r6;
  mul.lo.s32 %r8, %r7, %r6;
  sub.s32 %r8, %r4, %r8;
  shl.b32 %r7, %r7, 4;
  shl.b32 %r8, %r8, 4;
  shr.u32 %r9, %r5, 4;
  and.b32 %r10, %r5, 15;
  add.s32 %r7, %r7, %r9;
  add.s32 %r8, %r8, %r10;
  setp.ge.s32 %p1, %r7, %r1;
  @%p1 bra $done;
  setp.ge.s32 %p1, %r8, %r2;
  @%p1 bra $done;

  ld.param.u64 %rd1, [p_a];
  cvta.to.global.u64 %rd1, %rd1;
  ld.param.u64 %rd2, [p_b];
  cvta.to.global.u64 %rd2, %rd2;
  ld.param.u64 %rd3, [p_c];
  cvta.to.global.u64 %rd3, %rd3;
  ld.param.u64 %rd4, [p_lda];
  ld.param.u64 %rd5, [p_ldb];
  ld.param.u64 %rd6, [p_ldc];
  cvt.s64.s32 %rd7, %r7;
  cvt.s64.s32 %rd8, %r8;
  mul.lo.s64 %rd9, %rd7, %rd4;
  shl.b64 %rd9, %rd9, 2;
  add.s64 %rd1, %rd1, %rd9;
  shl.b64 %rd10, %rd8, 2;
  add.s64 %rd2, %rd2, %rd10;
  shl.b64 %rd5, %rd5, 2;
  mov.f32 %f1, 0f00000000;
  mov.u32 %r11, 0;
$loop:
  setp.ge.s32 %p2, %r11, %r3;
  @%p2 bra $store;
  ld.global.f32 %f2, [%rd1];
  ld.global.f32 %f3, [%rd2];
  fma.rn.f32 %f1, %f2, %f3, %f1;
  add.s64 %rd1, %rd1, 4;
  add.s64 %rd2, %rd2, %rd5;
  add.s32 %r11, %r11, 1;
  bra $loop;
$store:
  mul.lo.s64 %rd11, %rd7, %rd6;
  shl.b64 %rd11, %rd11, 2;
  add.s64 %rd3, %rd3, %rd11;
  add.s64 %rd3, %rd3, %rd10;
  ld.param.f32 %f4, [p_alpha];
  ld.param.f32 %f5, [p_beta];
  mul.rn.f32 %f1, %f1, %f4;
  setp.eq.f32 %p3, %f5, 0f00000000;
  @%p3 bra $put;
  ld.global.f32 %f6, [%rd3];
  fma.rn.f32 %f1, %f5, %f6, %f1;
$put:
  st.global.f32 [%rd3], %f1;
$done:
  ret;
}
)";

}  // namespace

Artifact naive_artifact() {
  Artifact artifact;
  artifact.spec.name = "naive";
  artifact.spec.tile = {16, 16};
  artifact.spec.copy = dsl::CopyMode::none;
  artifact.spec.vector_global = 1;
  artifact.spec.vector_shared = 1;
  artifact.spec.epilogue = dsl::default_epilogue();
  artifact.derived.threads = 256;
  artifact.derived.warps = 8;
  artifact.entries = {{"naive", {16, 16}, 256, 0}};
  artifact.ptx = kNaivePtx;
  return artifact;
}

Artifact spoilt_artifact(const std::string& from, const std::string& to) {
  Artifact artifact = naive_artifact();
  const size_t at = artifact.ptx.find(from);
  if (at == std::string::npos)
    ADD_FAILURE() << "not in the kernel: " << from;
  else
    artifact.ptx.replace(at, from.size(), to);
  return artifact;
}

}  // namespace tilec::test
