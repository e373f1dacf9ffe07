/* The known part on the host: straight-line programs, interpreted with the core's elementary functions.
 *
 * Each instruction rounds like the C statement generated for it, so results are bit-identical to the generated C. No
 * Python runs during a fit.
 */
#ifndef TU_TAPE_H
#define TU_TAPE_H

#include "tinyude.h"

/* In the order of OPERATIONS in native/tape.py. */
enum tu_operation {
    TU_ADD,
    TU_SUB,
    TU_MUL,
    TU_DIV,
    TU_NEG,
    TU_SQRT,
    TU_SIN,
    TU_COS,
    TU_TAN,
    TU_EXP,
    TU_LOG,
    TU_TANH,
    TU_ATAN,
    TU_ASIN,
    TU_ACOS,
    TU_SINH,
    TU_COSH,
    TU_ABS,
    TU_SIGN,
    TU_OPERATIONS
};

/* Registers: states, inputs, constants, then the result of each instruction. */
typedef struct tu_tape {
    int32_t states;
    int32_t inputs;
    int32_t constants_count;
    int32_t code_count;
    int32_t outputs_count;
    const tu_real *constants;
    const int32_t *code;    /* [code_count][3]: operation, registers a and b; a unary operation uses a. Fastest in
                             * runs of one operation. */
    const int32_t *outputs; /* [outputs_count] registers */
} tu_tape;

/* The functions of tu_known; `registers` must hold the longest of them. */
typedef struct tu_tapes {
    tu_tape field;
    tu_tape jacobian;
    tu_tape terms;
    tu_tape sensitivity;
    tu_tape outside;
    tu_real *registers;
} tu_tapes;

/* Runs the instructions only: inputs and constants are already in registers, results stay in registers. */
void tu_tape_code(const tu_tape *tape, tu_real *registers);

void tu_tape_run(const tu_tape *tape, const tu_real *x, const tu_real *u, tu_real *registers, tu_real *out);

/* Fills `known` with functions that run the tapes; NULL for a tape without outputs. The tapes must outlive it. */
void tu_tapes_known(tu_tapes *tapes, tu_known *known);

#endif
