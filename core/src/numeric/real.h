/* The number type of the core, and loop shapes for the machine. Nothing here changes a result. */
#ifndef TU_REAL_H
#define TU_REAL_H

#include "tinyude.h"

#ifdef TU_REAL_DOUBLE
#define TU_R(literal) literal
#else
#define TU_R(literal) literal##f
#endif

/* Columns of a register tile: four fill a Cortex-M's registers, sixteen a vector unit's. */
#ifndef TU_TILE
#if defined(__x86_64__) || defined(__aarch64__)
#define TU_TILE 16
#else
#define TU_TILE 4
#endif
#endif
#if TU_TILE <= 4
#define TU_BY_UNIT
#endif

/* -DTU_SIMD together with -fopenmp-simd: the marked loops have independent iterations and may run in vector lanes. */
#ifdef TU_SIMD
#define TU_LANES _Pragma("omp simd")
#else
#define TU_LANES
#endif

/* Kernels called with constant shapes must be inlined, so that their sums stay in registers. */
#if defined(__GNUC__)
#define TU_KERNEL static inline __attribute__((always_inline))
#else
#define TU_KERNEL static inline
#endif

/* The same for other functions, unless compiled for size (-Os). */
#ifdef __OPTIMIZE_SIZE__
#define TU_INLINE static inline
#else
#define TU_INLINE TU_KERNEL
#endif

#endif
