/* Pendulums in a row, damped by what their model does not know, and the learners that are tried on them. */
#ifndef PLANT_H
#define PLANT_H

#include "tinyude.h"

#include <stdio.h>
#include <stdlib.h>

#define PERIOD 0.005 /* s */
#define DAMPING 0.4
#define MAX_ROW (TU_MAX_STATES + TU_MAX_INPUTS)

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A configuration to try, and the known part it needs: state 2i is angle i, state 2i + 1 its rate. */
typedef struct {
    const char *name;
    void (*change)(tu_config *config); /* from base_config */
} setup;

extern const setup SETUPS[];
extern const int SETUPS_COUNT;

tu_config base_config(void);
tu_config paper_config(void);
tu_config config_of(const setup *tried);
tu_known known_of(const tu_config *config);

/* A learner between two canaries, which it must leave alone. */
typedef struct {
    tu_config config;
    tu_known known;
    tu_learner *learner;
    unsigned char *block;
    size_t bytes;
} guarded;

guarded guarded_learner(const tu_config *config);
void check_canaries(const guarded *g);
void check_weights(const guarded *g); /* all finite */
void guarded_free(guarded *g);

/* The plant itself, in motion. */
typedef struct {
    int pendulums;
    double state[2 * TU_MAX_STATES];
    double damping;
    double torque;
    uint32_t random;
    uint32_t tick;
} plant;

void plant_start(plant *p, int states, uint32_t seed);
void plant_row(plant *p, const tu_config *config, double noise, tu_real *row); /* moves on by one sample */

uint32_t draw(uint32_t *random);
double uniform(uint32_t *random); /* in [-1, 1) */

#endif
