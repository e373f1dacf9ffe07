/* Gradient clipping, Adam (or plain gradient descent), the cosine schedule and the running average of the weights. */
#ifndef TU_ADAM_H
#define TU_ADAM_H

#include "numeric/real.h"

#define TU_CLIP_NORM TU_R(5.0)

typedef struct {
    tu_real *first; /* running means of the gradient and of its square, `count` each; the caller's memory */
    tu_real *second;
    int count;
    tu_real power1; /* beta1^steps */
    tu_real power2;
} tu_adam;

/* Sets the moments to zero. */
void tu_adam_init(tu_adam *adam, tu_real *first, tu_real *second, int count);

/* Clips the gradient's norm to the limit. Returns the norm before clipping; if it is not finite, skip the update. */
tu_real tu_clip(tu_real *grad, int count, tu_real limit);

void tu_adam_step(tu_adam *adam, tu_real *params, const tu_real *grad, tu_real rate);

/* params -= rate * grad. */
void tu_sgd_step(tu_real *params, const tu_real *grad, int count, tu_real rate);

/* Half a cosine from rate down to floor * rate over `steps` (> 0) steps. */
tu_real tu_cosine_rate(uint32_t step, uint32_t steps, tu_real rate, tu_real floor);

/* Polyak averaging. The decay grows with the number of steps, so that the random start is soon forgotten. */
void tu_ema_update(tu_real *average, const tu_real *params, int count, uint32_t step, tu_real decay);

#endif
