/* Host-only functions: loops over rows, and information about the build and the processor. */
#ifndef TU_HOST_H
#define TU_HOST_H

#include "filter.h"
#include "tape.h"

/* out[rows][outputs] of a tape at x[rows][states] and u[rows][inputs]. */
void tu_tape_rows(const tu_tape *tape, const tu_real *x, const tu_real *u, size_t rows, tu_real *registers,
                  tu_real *out);

/* tu_learner_residual at x[rows][states] and u[rows][inputs]. */
int tu_residual_rows(tu_learner *learner, const tu_config *config, const tu_real *x, const tu_real *u, size_t rows,
                     tu_real *residual);

/* Bytes of a service's arena for a queue of this many samples: on this host, and on a 32-bit chip. 0: the configuration
 * is not valid.
 */
size_t tu_host_service_bytes(const tu_config *config, int32_t fifo_depth, int on_chip);

/* Size of a saved state's slot in bytes. */
uint32_t tu_host_save_bytes(tu_learner *learner);

/* Whether the processor has the vector unit that the x86-64-v3 build is compiled for. */
int tu_host_has_v3(void);

/* The compiler's name and version. */
const char *tu_host_compiler(void);

#endif
