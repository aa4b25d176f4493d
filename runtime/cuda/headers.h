// Whether CUDA's header was there when this was compiled. Without it the folder still builds, and
// `open_gpu` says that no CUDA support was compiled in.
#pragma once

#ifndef TILEC_HAS_CUDA_HEADERS  // may be set to 0 to build without
#if __has_include(<cuda.h>)
#define TILEC_HAS_CUDA_HEADERS 1
#else
#define TILEC_HAS_CUDA_HEADERS 0
#endif
#endif
