/* Runs an export called "model" on an emulated Cortex-M4F, QEMU's mps2-an386; a main for its cortex-m folder.
 *
 * In: life.bin, a header and two tables. Out: lines of text, and flash.bin, which the next run reads.
 *
 * COUNTED: pushes the rows one after the other, and counts the instructions of every push and every slice of work.
 * PACED: samples in SysTick's interrupt; a sensor's value is a function of the time at which it is read.
 * RESUMED: loads the state from flash.bin and saves it again.
 */
#include "board.h"
#include "machine.h"
#include "model.h"

#include <string.h>

enum { COUNTED = 0, PACED = 1, RESUMED = 2 };
enum { SLOT = 0x40000, TICK_NS = 40, ROW_TICKS = 2, STATUS_TICKS = 100, BUDGET = 50, TERMS = 64 };

typedef struct {
    uint32_t mode;
    uint32_t samples;
    uint32_t save_every; /* samples; 0: never */
    uint32_t cut_after;  /* bytes written to the flash before the simulated power cut; UINT32_MAX: never */
    uint32_t fine;       /* rows of the table per sample period */
    uint32_t fine_ticks; /* timer ticks between these rows */
} life_head;

typedef struct {
    uint64_t sum;
    uint32_t count, longest;
} cost;

/* The board's 16 MB of external memory: input and output of a run. */
#define TABLE ((float *)0x21000000u)
#define FLASH ((unsigned char *)0x21c00000u)

/* A timer of 25 MHz that counts down. Under -icount all instructions take the same time. */
static volatile uint32_t *const TIMER = (volatile uint32_t *)0x40000000u;

void start_ticks(void);
void sample(void);

static life_head life;
static uint32_t written;        /* bytes written to the flash */
static volatile uint32_t taken; /* samples */

static void start_timer(void)
{
    TIMER[2] = UINT32_MAX;
    TIMER[1] = UINT32_MAX;
    TIMER[0] = 1;
}

static uint32_t timer_ticks(void) { return ~TIMER[1]; }

static int flash_write(void *context, uint32_t offset, const void *bytes, uint32_t count)
{
    (void)context;
    uint32_t left = life.cut_after - written, whole = left < count ? left : count;
    memcpy(FLASH + offset, bytes, whole);
    written += whole;
    if (whole < count) { /* simulated power cut */
        tu_health health;
        model_health(&health);
        board_print_count("saves", health.saves);
        board_save("flash.bin", FLASH, 2 * SLOT);
        machine_exit(0);
    }
    return 0;
}

static int flash_read(void *context, uint32_t offset, void *bytes, uint32_t count)
{
    (void)context;
    memcpy(bytes, FLASH + offset, count);
    return 0;
}

static int send(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    return 1;
}

static void add(cost *c, uint32_t ticks)
{
    uint32_t instructions = (uint32_t)((uint64_t)ticks * TICK_NS / INSTRUCTION_NS);
    c->sum += instructions;
    c->count++;
    c->longest = instructions > c->longest ? instructions : c->longest;
}

static void print_cost(const char *names[3], const cost *c)
{
    board_print_count(names[0], c->sum);
    board_print_count(names[1], c->count);
    board_print_count(names[2], c->longest);
}

static void live_counted(const tu_storage *storage)
{
    static const char *push_names[3] = {"push_sum", "push_count", "push_longest"};
    static const char *slice_names[3] = {"slice_sum", "slice_count", "slice_longest"};
    cost push = {0, 0, 0}, slice = {0, 0, 0};
    for (uint32_t i = 0; i < life.samples; i++) {
        uint32_t start = timer_ticks();
        (void)model_push(TABLE + i * MODEL_ROW);
        add(&push, timer_ticks() - start);
        for (int more = 1; more;) {
            start = timer_ticks();
            more = model_work(1);
            add(&slice, timer_ticks() - start);
        }
        if (life.save_every && (i + 1) % life.save_every == 0) {
            start = timer_ticks();
            (void)model_save(storage);
            add(&slice, timer_ticks() - start);
        }
    }
    print_cost(push_names, &push);
    print_cost(slice_names, &slice);
}

/* Sensor values now, interpolated between two rows of the table. Noise and inputs (the firmware's commands) are those
 * of the nearest sample.
 */
static void read_sensors(uint64_t now, float *row)
{
    uint64_t last = (uint64_t)life.samples * life.fine, place = now / life.fine_ticks;
    float part = (float)(now % life.fine_ticks) / (float)life.fine_ticks;
    place = place < last ? place : last - 1;
    const float *below = TABLE + place * MODEL_ROW, *above = below + MODEL_ROW;
    uint64_t nearest = (place + life.fine / 2) / life.fine;
    const float *noise = TABLE + (last + 1) * MODEL_ROW + nearest * MODEL_CHANNELS;
    const float *command = TABLE + nearest * life.fine * MODEL_ROW;
    for (int i = 0; i < MODEL_CHANNELS; i++) {
        row[i] = below[i] + part * (above[i] - below[i]) + noise[i];
    }
    for (int i = MODEL_CHANNELS; i < MODEL_ROW; i++) {
        row[i] = command[i];
    }
}

void sample(void)
{
    static uint64_t now;
    float row[MODEL_ROW];
    now += (uint32_t)(timer_ticks() - (uint32_t)now); /* the timer wraps; it is read at least once per wrap */
    if (taken < life.samples) {
        read_sensors(now, row);
        (void)model_push(row);
        taken++;
    }
}

/* Waits for an interrupt. Not by wfi: after it, QEMU's timers take twice as long under -icount. The emulator executes
 * nops fast enough for one sample per second.
 */
#define NOTHING_8 "nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\t"
static void idle(void) { __asm__ volatile(NOTHING_8 NOTHING_8 NOTHING_8 NOTHING_8 NOTHING_8 NOTHING_8); }

static void live_paced(void)
{
    start_timer();
    start_ticks();
    for (uint32_t before = 0; before < life.samples; before = taken) {
        if (!model_work(BUDGET)) {
            while (taken == before) {
                idle();
            }
        }
    }
    while (model_work(BUDGET)) { /* work of the last sample */
    }
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void report(void)
{
    static tu_term terms[TERMS];
    tu_health health;
    tu_view view;
    int count = model_terms(terms, TERMS);
    model_health(&health);
    tu_learner_view(model_learner(), &view);
    board_print_count("samples", view.samples);
    board_print_count("lost", health.lost);
    board_print_count("deepest", (uint64_t)health.deepest);
    board_print_count("saves", health.saves);
    board_print_count("changes", view.changes);
    board_print_count("recalibrations", view.recalibrations);
    board_print_count("reservoir", view.reservoir_count);
    board_print_count("save_bytes", tu_service_save_bytes(model_service()));
    for (int i = 0; i < count && i < TERMS; i++) {
        board_print_count("column", (uint64_t)terms[i].column);
        board_print_bits("value", bits_of(terms[i].value));
        board_print_bits("half_width", bits_of(terms[i].half_width));
    }
}

int main(void)
{
    static const tu_line line = {send, NULL};
    static const tu_storage storage = {flash_write, flash_read, NULL, SLOT};
    int file = board_open_input("life.bin"), old = board_open_input("flash.bin");
    if (file < 0 || board_read(file, &life, sizeof life) != 0 || model_start() != TU_OK) {
        board_print("cannot read life.bin, or the learner did not start\n");
        machine_exit(1);
    }
    (void)board_read(file, TABLE, 0xc00000u);
    if (old >= 0) {
        (void)board_read(old, FLASH, 2 * SLOT);
    }
    start_timer();
    if (life.mode == COUNTED) {
        model_report(&line, ROW_TICKS, STATUS_TICKS, &storage);
        live_counted(&storage);
    } else if (life.mode == PACED) {
        live_paced();
    } else {
        int status = model_load(&storage);
        board_print_count("loaded", status == TU_OK);
        (void)model_save(&storage);
        while (model_work(BUDGET)) {
        }
    }
    report();
    board_save("flash.bin", FLASH, 2 * SLOT);
    machine_exit(0);
    return 0;
}
