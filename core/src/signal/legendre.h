/* The polynomials of a window on -1 <= tau <= 1. */
#ifndef TU_LEGENDRE_H
#define TU_LEGENDRE_H

#include "signal/window.h"

enum { TU_MAX_TERMS = TU_MAX_POLY + 1 };

/* Moments use monic Legendre polynomials, P_{j+1} = tau P_j - beta_j P_{j-1}: the cheapest recurrence. */
static const tu_real TU_MONIC_BETA[TU_MAX_TERMS] = {
    0,
    TU_R(1.0) / TU_R(3.0),
    TU_R(4.0) / TU_R(15.0),
    TU_R(9.0) / TU_R(35.0),
    TU_R(16.0) / TU_R(63.0),
    TU_R(25.0) / TU_R(99.0),
    TU_R(36.0) / TU_R(143.0),
};

TU_INLINE void tu_monic(tu_real tau, int poly, tu_real *basis)
{
    basis[0] = 1;
    basis[1] = tau;
    for (int j = 1; j < poly; j++) {
        basis[j + 1] = tau * basis[j] - TU_MONIC_BETA[j] * basis[j - 1];
    }
}

/* L_j in powers of tau. */
extern const tu_real tu_legendre_powers[TU_MAX_TERMS][TU_MAX_TERMS];

/* Samples, or pairs of samples, per slice: about 30,000 instructions on a Cortex-M4F. */
enum { TU_WINDOW_SLICE = 128 };

#endif
