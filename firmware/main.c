/* Learns from a recorded stream like a board from its sensors: one sample at a time, then the remaining updates.
 *
 * In: stream.bin, rows of float32. Out: lines of text, and the learner's arrays as files.
 */
#include "board.h"
#include "plant_config.h"
#include "report.h"
#include "state.h" /* for the learner's slices */

enum { MEASURED_UPDATES = 16 };

extern const tu_known plant_known;

static uint64_t arena[PLANT_ARENA_BYTES / 8];

typedef char plant_arena_is_whole_words[PLANT_ARENA_BYTES % 8 == 0 ? 1 : -1];

/* Pushes samples until `last` have been pushed or the stream ends. */
static void push_samples(tu_learner *learner, int file, uint32_t last, phase *spent)
{
    tu_real row[TU_MAX_STATES + TU_MAX_INPUTS];
    size_t bytes = (size_t)(plant_config.channels + plant_config.inputs) * sizeof(tu_real);
    while (spent->samples < last && board_read(file, row, bytes) == 0) {
        uint64_t start = board_instructions(), since = start, now = start;
        int more = 1;
        tu_learner_begin(learner, row);
        while (more) { /* same as tu_learner_push */
            more = tu_learner_advance(learner);
            now = board_instructions();
            spent->slice = now - since > spent->slice ? now - since : spent->slice;
            since = now;
        }
        uint64_t taken = now - start;
        spent->instructions += taken;
        spent->longest = taken > spent->longest ? taken : spent->longest;
        spent->samples++;
    }
}

static uint64_t finish(tu_learner *learner)
{
    uint64_t start = board_instructions();
    tu_learner_finish(learner);
    return board_instructions() - start;
}

/* Cost of one update; measured after the report, so that these updates do not change it. */
static uint64_t update(tu_learner *learner)
{
    uint64_t start = board_instructions();
    tu_learner_step(learner, MEASURED_UPDATES);
    return (board_instructions() - start) / MEASURED_UPDATES;
}

int main(void)
{
    phase calibration = {0, 0, 0, 0}, learning = {0, 0, 0, 0};
    tu_learner *learner;
    int file = board_open_input("stream.bin");
    int status = tu_learner_init(&learner, &plant_config, &plant_known, arena, sizeof arena);
    if (file < 0 || status != TU_OK) {
        board_print(file < 0 ? "cannot read stream.bin\n" : "the learner did not start: configuration or arena\n");
        return 1;
    }
    push_samples(learner, file, (uint32_t)plant_config.calibration, &calibration);
    push_samples(learner, file, UINT32_MAX, &learning);
    uint64_t finishing = finish(learner);
    report_state(learner, &plant_config);
    board_print("\n"); /* the run's figures follow */
    report_phase("calibration", &calibration);
    report_phase("learning", &learning);
    board_print_count("finish_instructions", finishing);
    board_print_count("update_instructions", update(learner));
    board_print_count("arena_bytes", sizeof arena);
    board_print_count("stack_bytes", board_stack_bytes());
    return 0;
}
