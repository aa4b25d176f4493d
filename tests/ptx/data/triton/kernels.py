"""The Triton kernels of this folder, and how their PTX was made: python3 kernels.py FOLDER.

Made with Triton 3.6.0. Debug sections were cut from the PTX and paths from its `.file` lines.
"""

import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(z + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(x, z, n, stride, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + r * stride + i, mask=m, other=float("-inf"))
    v = v - tl.max(v, axis=0)
    e = tl.exp(v)
    tl.store(z + r * stride + i, e / tl.sum(e, axis=0), mask=m)


@triton.jit
def matmul(a, b, c, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           PREC: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * lda + (k + rk)[None, :],
                    mask=(rm[:, None] < M) & ((k + rk)[None, :] < K), other=0.0)
        y = tl.load(b + (k + rk)[:, None] * ldb + rn[None, :],
                    mask=((k + rk)[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc, input_precision=PREC)
    tl.store(c + rm[:, None] * ldc + rn[None, :], acc,
             mask=(rm[:, None] < M) & (rn[None, :] < N))


def write(name, kernel, types, constants, capability, **options):
    signature = dict(types, **{key: "constexpr" for key in constants})
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    with open(f"{sys.argv[1]}/{name}.ptx", "w") as file:
        file.write(made.asm["ptx"])
    print(name, "entry", made.metadata.name, "shared", made.metadata.shared, "warps",
          made.metadata.num_warps)


def matmul_types(element):
    pointers = {"a": "*" + element, "b": "*" + element, "c": "*fp32"}
    return dict(pointers, **{key: "i32" for key in ("M", "N", "K", "lda", "ldb", "ldc")})


write("add", add, {"x": "*fp32", "y": "*fp32", "z": "*fp32", "n": "i32"}, {"BLOCK": 256}, 90,
      num_warps=4)
write("softmax", softmax, {"x": "*fp32", "z": "*fp32", "n": "i32", "stride": "i32"},
      {"BLOCK": 512}, 90, num_warps=4)
write("matmul_f32", matmul, matmul_types("fp32"), {"BM": 32, "BN": 32, "BK": 16, "PREC": "ieee"},
      90, num_warps=4, num_stages=3)
write("matmul_f16", matmul, matmul_types("fp16"), {"BM": 64, "BN": 64, "BK": 32, "PREC": "ieee"},
      80, num_warps=4, num_stages=3)
write("matmul_tf32", matmul, matmul_types("fp32"), {"BM": 32, "BN": 32, "BK": 32, "PREC": "tf32"},
      80, num_warps=4, num_stages=2)
