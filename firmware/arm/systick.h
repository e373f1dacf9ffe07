/* The timer of every Cortex-M, as an instruction counter. */
#ifndef SYSTICK_H
#define SYSTICK_H

/* Interrupt handler of the timer. */
void systick_wrapped(void);

#endif
