#!/bin/bash
# Makes the cubins beside this file again. Needs nvcc (13.0 made those that are checked in).
# Only the sm_90a one has line information: it brings the PTX text along, 30 kB of it.
set -euo pipefail
cd "$(dirname "$0")"
nvcc -cubin -arch=sm_90a -lineinfo sgemm.cu -o sgemm_sm_90a.cubin
for arch in sm_80 sm_86 sm_89 sm_100a sm_120a; do
  nvcc -cubin -arch=$arch sgemm.cu -o sgemm_$arch.cubin
done
