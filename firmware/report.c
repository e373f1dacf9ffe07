#include "report.h"

#include "board.h"

#include <string.h>

static void print_real(const char *name, tu_real value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    board_print_bits(name, bits);
}

static void save_reals(const char *name, const tu_real *values, int32_t count)
{
    board_save(name, values, (size_t)count * sizeof *values);
}

static void print_counters(const tu_view *view)
{
    board_print_count("calibrated", (uint32_t)view->calibrated);
    board_print_count("window_half", (uint32_t)view->window_half);
    board_print_count("window_spacing", (uint32_t)view->window_spacing);
    board_print_count("deficient", (uint32_t)view->deficient);
    board_print_count("samples", view->samples);
    board_print_count("filled", view->filled);
    board_print_count("replaced", view->replaced);
    board_print_count("windows", view->windows);
    board_print_count("accepted", view->accepted);
    board_print_count("updates", view->updates);
    board_print_count("updates_left", view->updates_left);
    board_print_count("rolled_back", view->rolled_back);
    board_print_count("recalibrations", view->recalibrations);
    board_print_count("no_signal", view->no_signal);
    board_print_count("returned", view->returned);
    board_print_count("changes", view->changes);
}

void report_state(tu_learner *learner, const tu_config *config)
{
    tu_view view;
    tu_learner_view(learner, &view);
    print_counters(&view);
    print_real("second_order", view.second_order);
    print_real("snr2", view.snr2);
    print_real("sigma_scale", view.sigma_scale);
    print_real("loss", view.loss);
    save_reals("sigma.bin", view.sigma, config->channels);
    save_reals("step.bin", view.step, config->channels);
    save_reals("x_scale.bin", view.x_scale, config->states);
    save_reals("dx_scale.bin", view.dx_scale, config->states);
    save_reals("ddx_scale.bin", view.ddx_scale, config->states);
    save_reals("u_scale.bin", view.u_scale, config->inputs);
    save_reals("params.bin", view.params, view.params_count);
    save_reals("average.bin", view.average, view.params_count);
    save_reals("coefficients.bin", view.coefficients, view.columns);
    save_reals("errors.bin", view.errors, view.columns);
    size_t number = config->compact ? sizeof(int16_t) : sizeof(tu_real);
    board_save("reservoir.bin", view.reservoir, (size_t)view.reservoir_count * view.reservoir_width * number);
    board_save("holdout.bin", view.holdout, (size_t)view.holdout_count * view.holdout_width * number);
    board_save("network_on.bin", view.network_on, (size_t)config->on_count * sizeof(int32_t));
    board_save("rejected.bin", view.rejected, sizeof view.rejected);
    board_save("changed_at.bin", view.changed_at, sizeof view.changed_at);
}

static void print_part(const char *phase_name, const char *part, uint64_t value)
{
    board_print(phase_name);
    board_print_count(part, value);
}

void report_phase(const char *name, const phase *spent)
{
    print_part(name, "_samples", spent->samples);
    print_part(name, "_instructions", spent->instructions);
    print_part(name, "_longest_push", spent->longest);
    print_part(name, "_longest_slice", spent->slice);
}
