/* Small symmetric systems. Lower triangles are packed row by row: element (i, j), j <= i, at i (i + 1) / 2 + j. */
#ifndef TU_CHOLESKY_H
#define TU_CHOLESKY_H

#include "numeric/real.h"

TU_INLINE int tu_packed(int row) { return row * (row + 1) / 2; }

/* Index of element (i, j) of a packed symmetric matrix. */
TU_INLINE int tu_symmetric(int i, int j) { return i > j ? tu_packed(i) + j : tu_packed(j) + i; }

/* A = L L', in place. 0: A is not positive definite to working precision. */
int tu_cholesky_factor(int n, tu_real *lower);

/* x = L^-1 x */
void tu_cholesky_forward(int n, const tu_real *lower, tu_real *x);

/* x = L'^-1 x */
void tu_cholesky_backward(int n, const tu_real *lower, tu_real *x);

#endif
