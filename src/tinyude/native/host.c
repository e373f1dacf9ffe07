#include "host.h"

#include "service/image.h"
#include "service/service_state.h"

void tu_tape_rows(const tu_tape *tape, const tu_real *x, const tu_real *u, size_t rows, tu_real *registers,
                  tu_real *out)
{
    for (size_t row = 0; row < rows; row++) {
        tu_tape_run(tape, x, u, registers, out);
        x += tape->states;
        u += tape->inputs;
        out += tape->outputs_count;
    }
}

int tu_residual_rows(tu_learner *learner, const tu_config *config, const tu_real *x, const tu_real *u, size_t rows,
                     tu_real *residual)
{
    int status = TU_OK;
    for (size_t row = 0; row < rows; row++) {
        status = tu_learner_residual(learner, x, u, residual);
        x += config->states;
        u += config->inputs;
        residual += config->on_count;
    }
    return status;
}

size_t tu_host_service_bytes(const tu_config *config, int32_t fifo_depth, int on_chip)
{
    tu_plan plan = {0};
    plan.config = config;
    plan.fifo_depth = fifo_depth;
    size_t bytes = tu_service_bytes(&plan), own = sizeof(tu_service);
    return on_chip && own > TU_SERVICE_STATE_BYTES ? bytes - (own - TU_SERVICE_STATE_BYTES) : bytes;
}

uint32_t tu_host_save_bytes(tu_learner *learner) { return tu_image_bytes(learner); }

int tu_host_has_v3(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
#else
    return 0;
#endif
}

const char *tu_host_compiler(void)
{
#if defined(__clang__)
    return __VERSION__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "unknown";
#endif
}
