#include "regression/library.h"

#include "config.h"
#include "numeric/elementary.h"
#include "regression/library_sums.h"

/* Windows after which all sums are halved: the oldest lose weight, and float32 sums still change. */
enum { MEMORY = 1 << 18 };

void tu_library_carve(tu_library *library, tu_arena *arena, const tu_config *config)
{
    library->groups = config->groups;
    library->outputs = config->on_count;
    library->parameters = config->parameters;
    library->terms = config->library_terms;
    library->columns = tu_config_columns(config);
    library->size = library->columns ? tu_sums_size(library) : 0;
    library->sums = tu_arena_reals(arena, library->groups * library->size);
    library->coefficients = tu_arena_reals(arena, library->columns);
    library->errors = tu_arena_reals(arena, library->columns);
    library->moved = tu_arena_reals(arena, library->columns);
}

tu_real tu_library_dot(const tu_library *library, int output, const tu_real *row, const tu_real *coefficients)
{
    tu_real sum = 0;
    for (int a = 0; a < library->parameters + library->terms; a++) {
        sum += row[a] * coefficients[tu_library_column(library, output, a)];
    }
    return sum;
}

void tu_library_add(tu_library *library, const tu_real *design, const tu_real *left, const tu_real *target)
{
    int width = library->parameters + library->terms;
    tu_real *sums = library->sums + (int)(library->blocks % (uint32_t)library->groups) * library->size;
    tu_real *products = sums + tu_sums_row(library, library->columns);
    for (int output = 0; output < library->outputs; output++, design += width) {
        tu_real goal = left[output];
        for (int a = 0; a < width; a++) {
            int column = tu_library_column(library, output, a);
            tu_real *row = sums + tu_sums_row(library, column);
            for (int b = 0; b <= a; b++) {
                row[b] += design[a] * design[b];
            }
            products[column] += design[a] * goal;
        }
        products[library->columns] += target[output] * target[output];
    }
    library->windows++;
}

void tu_library_weigh(tu_library *library, tu_real weight)
{
    tu_real most = (tu_real)MEMORY / (tu_real)(library->held > 1 ? library->held : 1);
    weight = weight < most ? weight : most;
    for (int i = 0; i < library->groups * library->size; i++) {
        library->sums[i] *= weight;
    }
    library->held = (uint32_t)(weight * (tu_real)library->held);
}

void tu_library_end_block(tu_library *library, int forget)
{
    tu_real block = (tu_real)library->windows;
    library->held += (uint32_t)library->windows;
    library->windows = 0;
    library->blocks++;
    if (library->held >= MEMORY || forget) {
        tu_library_weigh(library, library->held >= MEMORY ? TU_R(0.5) : 1 - block / (tu_real)forget);
    }
}

void tu_library_clear(tu_library *library)
{
    tu_clear(library->sums, library->groups * library->size);
    library->blocks = 0;
    library->held = 0;
    library->windows = 0;
}
