#!/bin/bash
# Makes the cubins beside this file again. Needs nvcc and ptxas (13.0 made those checked in).
# Only the sm_90a one has line information: it brings the PTX text along, 30 kB of it. The path that
# nvcc writes into the PTX is cut to the file's name.
set -euo pipefail
cd "$(dirname "$0")"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
nvcc -ptx -arch=sm_90a -lineinfo sgemm.cu -o "$folder/sgemm.ptx"
sed -i -E 's|^(\s*\.file\s+[0-9]+\s+)"[^"]*/|\1"|' "$folder/sgemm.ptx"
ptxas -arch=sm_90a -lineinfo "$folder/sgemm.ptx" -o sgemm_sm_90a.cubin
for arch in sm_80 sm_86 sm_89 sm_100a sm_120a; do
  nvcc -cubin -arch=$arch sgemm.cu -o sgemm_$arch.cubin
done
# Loops with their fragments read ahead, as our own passes get them: before they are rewritten.
for arch in sm_80 sm_90a; do
  ../../../build/release/tilec compile "tile 32x64x2 warp 32x64 thread 8x8 stages 3 edges exact \
    epilogue acc sass on target $arch" --emit cubin -o "$folder"
  cp "$folder/gemm.assembled.cubin" lead_$arch.cubin
done
