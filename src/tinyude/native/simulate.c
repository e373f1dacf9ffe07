#include "simulate.h"

#include "numeric/elementary.h"

#include <float.h>
#include <string.h>

enum { STAGES = 7 };

static const double NODES[STAGES] = {0.0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1.0, 1.0};
static const double COUPLING[STAGES][6] = {
    {0},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
/* Fifth-order minus fourth-order weights. */
static const double ERROR[STAGES] = {71.0 / 57600,      0.0,        -71.0 / 16695, 71.0 / 1920,
                                     -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
/* Shampine's interpolant: x(s) = x + h sum_i k_i sum_j DENSE[i][j] s^(j + 1). */
static const double DENSE[STAGES][4] = {
    {1.0, -8048581381.0 / 2820520608, 8663915743.0 / 2820520608, -12715105075.0 / 11282082432},
    {0},
    {0.0, 131558114200.0 / 32700410799, -68118460800.0 / 10900136933, 87487479700.0 / 32700410799},
    {0.0, -1754552775.0 / 470086768, 14199869525.0 / 1410260304, -10690763975.0 / 1880347072},
    {0.0, 127303824393.0 / 49829197408, -318862633887.0 / 49829197408, 701980252875.0 / 199316789632},
    {0.0, -282668133.0 / 205662961, 2019193451.0 / 616988883, -1453857185.0 / 822651844},
    {0.0, 40617522.0 / 29380423, -110615467.0 / 29380423, 69997945.0 / 29380423},
};

static const double SAFETY = 0.9, SHRINK = 0.2, GROW = 5.0, PROPORTIONAL = 0.2; /* 1 / order */
static const double SHORT = 1e-5; /* share of the time in which the largest slope moves a state by its scale */

typedef struct workspace {
    tu_real *slopes; /* [STAGES][states] */
    tu_real *trial;  /* [states] */
    tu_real *held;   /* [inputs + angles] */
    tu_real *registers;
} workspace;

static int32_t registers_of(const tu_tape *tape)
{
    return tape->states + tape->inputs + tape->constants_count + tape->code_count;
}

size_t tu_simulate_workspace(const tu_simulation *simulation)
{
    return (size_t)(STAGES + 1) * (size_t)simulation->states +
           (size_t)(simulation->inputs + simulation->angles_count + registers_of(simulation->field));
}

static workspace laid_out(const tu_simulation *simulation, tu_real *room)
{
    workspace space;
    space.slopes = room;
    space.trial = space.slopes + STAGES * simulation->states;
    space.held = space.trial + simulation->states;
    space.registers = space.held + simulation->inputs + simulation->angles_count;
    return space;
}

/* The slope at state x; `polynomials` are the inputs of the interval, `part` how far into it, 0 to 1. */
static void slope_at(const tu_simulation *simulation, const tu_real *polynomials, tu_real part, const tu_real *x,
                     const workspace *space, tu_real *slope)
{
    for (int32_t i = 0; i < simulation->inputs; i++) {
        const tu_real *p = polynomials + 4 * i;
        space->held[i] = p[0] + part * (p[1] + part * (p[2] + part * p[3]));
    }
    for (int32_t i = 0; i < simulation->angles_count; i++) {
        space->held[simulation->inputs + i] = tu_angle_wrap(x[simulation->angles[i]]);
    }
    tu_tape_run(simulation->field, x, space->held, space->registers, slope);
}

/* Computes all stages of one step from x; writes the new state to trial. Returns the error over the tolerance; NaN if
 * not finite.
 */
static tu_real try_step(const tu_simulation *simulation, const tu_real *polynomials, tu_real from, tu_real span,
                        tu_real step, const tu_real *x, const workspace *space)
{
    const int32_t n = simulation->states;
    for (int32_t stage = 1; stage < STAGES; stage++) {
        for (int32_t i = 0; i < n; i++) {
            tu_real sum = 0;
            for (int32_t k = 0; k < stage; k++) {
                sum += (tu_real)COUPLING[stage][k] * space->slopes[k * n + i];
            }
            space->trial[i] = x[i] + step * sum;
        }
        slope_at(simulation, polynomials, (from + (tu_real)NODES[stage] * step) / span, space->trial, space,
                 space->slopes + stage * n);
    }
    tu_real total = 0;
    for (int32_t i = 0; i < n; i++) {
        tu_real error = 0;
        for (int32_t k = 0; k < STAGES; k++) {
            error += (tu_real)ERROR[k] * space->slopes[k * n + i];
        }
        tu_real size = tu_abs(x[i]) > tu_abs(space->trial[i]) ? tu_abs(x[i]) : tu_abs(space->trial[i]);
        error *= step / (simulation->absolute * simulation->scale[i] + simulation->relative * size);
        total += error * error;
    }
    return tu_sqrt(total / (tu_real)n);
}

static void interpolate(const tu_simulation *simulation, const tu_real *x, tu_real step, tu_real part,
                        const workspace *space, tu_real *out)
{
    const int32_t n = simulation->states;
    tu_real weights[STAGES];
    for (int32_t k = 0; k < STAGES; k++) {
        const double *p = DENSE[k];
        weights[k] = part * ((tu_real)p[0] + part * ((tu_real)p[1] + part * ((tu_real)p[2] + part * (tu_real)p[3])));
    }
    for (int32_t i = 0; i < n; i++) {
        tu_real sum = 0;
        for (int32_t k = 0; k < STAGES; k++) {
            sum += weights[k] * space->slopes[k * n + i];
        }
        out[i] = x[i] + step * sum;
    }
}

/* Hairer and Wanner's first guess, without its second evaluation. */
static tu_real first_step(const tu_simulation *simulation, const tu_real *x, const tu_real *slope, tu_real longest)
{
    tu_real size = 0, rate = 0;
    for (int32_t i = 0; i < simulation->states; i++) {
        tu_real tolerance = simulation->absolute * simulation->scale[i] + simulation->relative * tu_abs(x[i]);
        size += (x[i] / tolerance) * (x[i] / tolerance);
        rate += (slope[i] / tolerance) * (slope[i] / tolerance);
    }
    tu_real step = rate > 0 ? (tu_real)0.01 * tu_sqrt(size / rate) : longest;
    step = step > 0 ? step : (tu_real)1e-3 * longest;
    return step < longest ? step : longest;
}

/* The step below which a switching field is not resolved: short relative to the rows and to the dynamics. */
static tu_real shortest_step(const tu_simulation *simulation, tu_run *run, const tu_real *slope)
{
    for (int32_t i = 0; i < simulation->states; i++) {
        tu_real rate = tu_abs(slope[i]) / simulation->scale[i];
        run->fastest = rate > run->fastest ? rate : run->fastest;
    }
    return run->fastest * simulation->shortest > (tu_real)SHORT ? (tu_real)SHORT / run->fastest : simulation->shortest;
}

static tu_real next_step(tu_real step, tu_real error)
{
    if (!(error < (tu_real)1e30)) { /* also NaN */
        return (tu_real)SHRINK * step;
    }
    tu_real factor = error > 0 ? (tu_real)SAFETY * tu_exp(-(tu_real)PROPORTIONAL * tu_log(error)) : (tu_real)GROW;
    factor = factor<(tu_real)SHRINK ? (tu_real)SHRINK : factor>(tu_real) GROW ? (tu_real)GROW : factor;
    return factor * step;
}

static int within(const tu_real *x, const tu_real *limit, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if (!(tu_abs(x[i]) < limit[i])) { /* also NaN */
            return 0;
        }
    }
    return 1;
}

/* Applies an accepted step and fills the rows it passes. */
static void advance(const tu_simulation *simulation, tu_run *run, tu_real end, tu_real step, int to_row,
                    const workspace *space, tu_real *x, tu_real *out)
{
    const size_t n = (size_t)simulation->states;
    const int64_t last = simulation->rows - 1;
    while (run->row < last && simulation->times[run->row + 1] < end) {
        run->row++;
        interpolate(simulation, x, step, (simulation->times[run->row] - run->time) / step, space,
                    out + (size_t)run->row * n);
    }
    memcpy(x, space->trial, n * sizeof *x);
    if (to_row) {
        run->row++;
        memcpy(out + (size_t)run->row * n, x, n * sizeof *x);
    }
    run->time = end;
}

int64_t tu_simulate(const tu_simulation *simulation, int64_t index, tu_run *run, const tu_real *limit, int64_t steps,
                    tu_real *room, tu_real *x, tu_real *out)
{
    const workspace space = laid_out(simulation, room);
    const size_t n = (size_t)simulation->states;
    const int64_t last = simulation->rows - 1;
    const tu_real *times = simulation->times;
    int64_t taken = 0;
    run->known_slope = 0; /* the caller may change the workspace */
    while (run->status == TU_RUN_CONTINUES && taken < steps) {
        if (run->row == last) {
            run->status = TU_RUN_DONE;
            break;
        }
        /* The row that a step must not pass: with inputs the next one, where they may jump. */
        const int64_t stop = simulation->inputs ? run->row + 1 : last;
        const tu_real begin = times[run->row], span = times[run->row + 1] - begin, left = times[stop] - run->time;
        const tu_real *polynomials = simulation->inputs ? simulation->inputs_at + index * simulation->inputs_stride +
                                                              4 * simulation->inputs * run->row
                                                        : NULL;
        if (!run->known_slope) {
            slope_at(simulation, polynomials, (run->time - begin) / span, x, &space, space.slopes);
        }
        if (!(run->step > 0)) {
            run->step = first_step(simulation, x, space.slopes, left);
        }
        const int ends = run->step >= left * (1 - 8 * (tu_real)DBL_EPSILON);
        const tu_real step = ends ? left : run->step;
        const tu_real error = try_step(simulation, polynomials, run->time - begin, span, step, x, &space);
        const tu_real shortest = shortest_step(simulation, run, space.slopes);
        tu_real wanted = next_step(step, error);
        wanted = wanted > shortest ? wanted : shortest;
        taken++;
        if (!(error <= 1) && step > shortest) {
            run->step = wanted;
            run->known_slope = 1; /* the same as before */
            continue;
        }
        if (!within(space.trial, limit, simulation->states)) {
            run->status = TU_RUN_DIVERGED;
            break;
        }
        const int jumps = simulation->inputs && ends;
        advance(simulation, run, ends ? times[stop] : run->time + step, step, ends, &space, x, out);
        memcpy(space.slopes, space.slopes + (STAGES - 1) * n, n * sizeof *x);
        run->known_slope = !jumps;
        run->step = wanted > run->step || !ends ? wanted : run->step; /* not from a shortened last step */
    }
    return taken;
}
