/* The timer of every Cortex-M, as an instruction counter. */
#ifndef SYSTICK_H
#define SYSTICK_H

/* Its interrupt. */
void systick_wrapped(void);

#endif
