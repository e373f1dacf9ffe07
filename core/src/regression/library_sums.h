/* Packing of a group's sums, row by row: the products of each column with the parameters and the terms of the same
 * residual state up to itself; last the target's products with every column and itself.
 */
#ifndef TU_LIBRARY_SUMS_H
#define TU_LIBRARY_SUMS_H

#include "numeric/cholesky.h"
#include "regression/library.h"

/* Offset of a column's row; column == columns: the target's. */
TU_INLINE int tu_sums_row(const tu_library *library, int column)
{
    int parameters = library->parameters, terms = library->terms, beyond = column - parameters;
    if (beyond <= 0) {
        return tu_packed(column);
    }
    int output = beyond / terms, term = beyond % terms;
    int before = tu_packed(parameters) + output * (terms * parameters + tu_packed(terms));
    return before + term * parameters + tu_packed(term);
}

/* Numbers in a group's sums. */
TU_INLINE int tu_sums_size(const tu_library *library)
{
    return tu_sums_row(library, library->columns) + library->columns + 1;
}

/* The sum of products of two columns; column == columns: the target. */
TU_INLINE tu_real tu_sums_at(const tu_library *library, const tu_real *sums, int a, int b)
{
    int high = a > b ? a : b, low = a > b ? b : a;
    const tu_real *row = sums + tu_sums_row(library, high);
    int parameters = library->parameters, terms = library->terms;
    if (high == library->columns || low < parameters) {
        return row[low];
    }
    int output = (high - parameters) / terms;
    return (low - parameters) / terms == output ? row[low - output * terms] : 0;
}

#endif
