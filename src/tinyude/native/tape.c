#include "tape.h"

#include "numeric/elementary.h"

#include <string.h>

static tu_real *load(tu_real *registers, const tu_real *values, int32_t count)
{
    if (count > 0) { /* values may be NULL for none */
        memcpy(registers, values, (size_t)count * sizeof *values);
    }
    return registers + count;
}

/* Executes instructions in order while the operation is the same. */
#define RUN(expression)                                                                                                \
    do {                                                                                                               \
        tu_real a = registers[code[1]], b = registers[code[2]];                                                        \
        (void)b;                                                                                                       \
        *result++ = (expression);                                                                                      \
        code += 3;                                                                                                     \
    } while (code < end && code[0] == operation);                                                                      \
    break

void tu_tape_code(const tu_tape *tape, tu_real *registers)
{
    tu_real *result = registers + tape->states + tape->inputs + tape->constants_count;
    const int32_t *code = tape->code, *end = code + 3 * tape->code_count;
    while (code < end) {
        const int32_t operation = code[0];
        switch (operation) {
        case TU_ADD:
            RUN(a + b);
        case TU_SUB:
            RUN(a - b);
        case TU_MUL:
            RUN(a * b);
        case TU_DIV:
            RUN(a / b);
        case TU_NEG:
            RUN(-a);
        case TU_SQRT:
            RUN(tu_sqrt(a));
        case TU_SIN:
            RUN(tu_sin(a));
        case TU_COS:
            RUN(tu_cos(a));
        case TU_TAN:
            RUN(tu_tan(a));
        case TU_EXP:
            RUN(tu_exp(a));
        case TU_LOG:
            RUN(tu_log(a));
        case TU_TANH:
            RUN(tu_tanh(a));
        case TU_ATAN:
            RUN(tu_atan(a));
        case TU_ASIN:
            RUN(tu_asin(a));
        case TU_ACOS:
            RUN(tu_acos(a));
        case TU_SINH:
            RUN(tu_sinh(a));
        case TU_COSH:
            RUN(tu_cosh(a));
        case TU_ABS:
            RUN(tu_abs(a));
        default:
            RUN(tu_sign(a));
        }
    }
}

void tu_tape_run(const tu_tape *tape, const tu_real *x, const tu_real *u, tu_real *registers, tu_real *out)
{
    tu_real *next = load(registers, x, tape->states);
    next = load(next, u, tape->inputs);
    load(next, tape->constants, tape->constants_count);
    tu_tape_code(tape, registers);
    for (int32_t i = 0; i < tape->outputs_count; i++) {
        out[i] = registers[tape->outputs[i]];
    }
}

static void field(void *context, const tu_real *x, const tu_real *u, tu_real *dx)
{
    const tu_tapes *tapes = context;
    tu_tape_run(&tapes->field, x, u, tapes->registers, dx);
}

static void jacobian(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    const tu_tapes *tapes = context;
    tu_tape_run(&tapes->jacobian, x, u, tapes->registers, out);
}

static void terms(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    const tu_tapes *tapes = context;
    tu_tape_run(&tapes->terms, x, u, tapes->registers, out);
}

static void sensitivity(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    const tu_tapes *tapes = context;
    tu_tape_run(&tapes->sensitivity, x, u, tapes->registers, out);
}

static void outside(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    const tu_tapes *tapes = context;
    tu_tape_run(&tapes->outside, x, u, tapes->registers, out);
}

void tu_tapes_known(tu_tapes *tapes, tu_known *known)
{
    known->field = tapes->field.outputs_count ? field : NULL;
    known->jacobian = tapes->jacobian.outputs_count ? jacobian : NULL;
    known->terms = tapes->terms.outputs_count ? terms : NULL;
    known->sensitivity = tapes->sensitivity.outputs_count ? sensitivity : NULL;
    known->outside = tapes->outside.outputs_count ? outside : NULL;
    known->context = tapes;
    known->network = &tu_network;
    known->fusion = &tu_fusion;
    known->paper = &tu_paper;
}
