#include "tape.h"

#include "numeric/elementary.h"

#include <string.h>

static tu_real operate(int32_t operation, tu_real a, tu_real b)
{
    switch (operation) {
    case TU_ADD:
        return a + b;
    case TU_SUB:
        return a - b;
    case TU_MUL:
        return a * b;
    case TU_DIV:
        return a / b;
    case TU_NEG:
        return -a;
    case TU_SQRT:
        return tu_sqrt(a);
    case TU_SIN:
        return tu_sin(a);
    case TU_COS:
        return tu_cos(a);
    case TU_TAN:
        return tu_tan(a);
    case TU_EXP:
        return tu_exp(a);
    case TU_LOG:
        return tu_log(a);
    case TU_TANH:
        return tu_tanh(a);
    case TU_ATAN:
        return tu_atan(a);
    case TU_ASIN:
        return tu_asin(a);
    case TU_ACOS:
        return tu_acos(a);
    case TU_SINH:
        return tu_sinh(a);
    case TU_COSH:
        return tu_cosh(a);
    case TU_ABS:
        return tu_abs(a);
    default:
        return tu_sign(a);
    }
}

static tu_real *load(tu_real *registers, const tu_real *values, int32_t count)
{
    if (count > 0) { /* values may be NULL for none */
        memcpy(registers, values, (size_t)count * sizeof *values);
    }
    return registers + count;
}

void tu_tape_code(const tu_tape *tape, tu_real *registers)
{
    tu_real *result = registers + tape->states + tape->inputs + tape->constants_count;
    const int32_t *code = tape->code;
    for (int32_t i = 0; i < tape->code_count; i++, code += 3) {
        result[i] = operate(code[0], registers[code[1]], registers[code[2]]);
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

void tu_tapes_known(tu_tapes *tapes, tu_known *known)
{
    known->field = tapes->field.outputs_count ? field : NULL;
    known->jacobian = tapes->jacobian.outputs_count ? jacobian : NULL;
    known->terms = tapes->terms.outputs_count ? terms : NULL;
    known->sensitivity = tapes->sensitivity.outputs_count ? sensitivity : NULL;
    known->context = tapes;
}
