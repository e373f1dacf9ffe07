/* Commands received over the link, and answers of several frames. */
#include "numeric/finite.h"
#include "service/crc.h"
#include "service/telemetry.h"

#include <string.h>

enum { HELLO_PART = 0 }; /* parts of a hello: the facts, then one name each */
enum name_group { OF_LEARNER, OF_STATE, OF_INPUT, OF_PARAMETER, OF_TERM, GROUPS };

static uint32_t take(const uint8_t **bytes, int count)
{
    uint32_t value = 0;
    for (int i = 0; i < count; i++) {
        value |= (uint32_t)*(*bytes)++ << (8 * i);
    }
    return value;
}

static uint32_t model_crc(const tu_snapshot *snapshot, const tu_real *model)
{
    uint32_t crc = TU_CRC32_START;
    for (int i = 0; i < snapshot->count; i++) {
        float single = (float)model[i];
        crc = tu_crc32(crc, &single, sizeof single);
    }
    return ~crc;
}

static int send_hello(tu_service *s)
{
    const tu_config *c = s->plan->config;
    tu_writer w = tu_frame_begin(s, TU_FRAME_HELLO);
    tu_put(&w, s->plan->fingerprint, 4);
    tu_put(&w, (uint32_t)s->snapshot.count, 4);
    tu_put_real(&w, c->sample_period);
    tu_put(&w, s->reporter.row_ticks, 4);
    tu_put(&w, (uint32_t)c->channels, 1);
    tu_put(&w, (uint32_t)c->inputs, 1);
    tu_put(&w, (uint32_t)c->states, 1);
    tu_put(&w, (uint32_t)c->on_count, 1);
    tu_put(&w, (uint32_t)c->parameters, 2);
    tu_put(&w, (uint32_t)c->library_terms, 2);
    for (int i = 0; i < c->states; i++) {
        tu_put(&w, (uint32_t)c->channel[i], 1);
        tu_put(&w, (uint32_t)c->order[i], 1);
    }
    for (int i = 0; i < c->on_count; i++) {
        tu_put(&w, (uint32_t)c->on[i], 1);
    }
    return tu_frame_send(s, &w);
}

/* Sends name number `part`, counted over all groups. Returns -1 if there is none, else whether it was sent. */
static int send_name(tu_service *s, int part)
{
    const tu_plan *plan = s->plan;
    const char *const *names[GROUPS] = {&plan->name, plan->states, plan->inputs, plan->parameters, plan->terms};
    const int counts[GROUPS] = {1, plan->config->states, plan->config->inputs, plan->config->parameters,
                                plan->config->library_terms};
    int group = OF_LEARNER;
    while (group < GROUPS && part >= counts[group]) {
        part -= counts[group++];
    }
    if (group == GROUPS) {
        return -1;
    }
    tu_writer w = tu_frame_begin(s, TU_FRAME_NAME);
    tu_put(&w, (uint32_t)group, 1);
    tu_put(&w, (uint32_t)part, 2);
    tu_put_real(&w, group == OF_PARAMETER && plan->parameter_base ? plan->parameter_base[part] : 0);
    for (const char *letter = names[group] ? names[group][part] : ""; letter && *letter; letter++) {
        tu_put(&w, (uint8_t)*letter, 1);
    }
    return tu_frame_send(s, &w);
}

/* Sends piece number `part` of the model; returns as send_name. */
static int send_piece(tu_service *s, int part)
{
    const tu_real *model = tu_snapshot_model(&s->snapshot);
    int first = part * TU_MODEL_PIECE, count = s->snapshot.count;
    if (!model || first >= count) {
        return -1;
    }
    tu_writer w = tu_frame_begin(s, TU_FRAME_MODEL);
    tu_put(&w, (uint32_t)first, 4);
    tu_put(&w, (uint32_t)count, 4);
    tu_put(&w, model_crc(&s->snapshot, model), 4);
    for (int i = first; i < count && i < first + TU_MODEL_PIECE; i++) {
        tu_put_real(&w, model[i]);
    }
    return tu_frame_send(s, &w);
}

int tu_send_part(tu_service *s)
{
    tu_reporter *r = &s->reporter;
    int sent;
    if (r->part_kind == TU_FRAME_MODEL) {
        sent = send_piece(s, r->part);
    } else {
        sent = r->part == HELLO_PART ? send_hello(s) : send_name(s, r->part - 1);
    }
    r->part = sent < 0 ? -1 : r->part + sent;
    return sent != 0;
}

static void begin_parts(tu_service *s, int kind)
{
    s->reporter.part_kind = kind;
    s->reporter.part = 0;
}

/* A whole model has arrived: the learner starts over from it. */
static int start_from_arrived(tu_service *s, uint32_t crc)
{
    tu_reporter *r = &s->reporter;
    const tu_real *arrived = r->arriving;
    int32_t network_on[TU_MAX_STATES];
    tu_model model;
    int usable = model_crc(&s->snapshot, arrived) == crc;
    r->arriving = NULL;
    for (int i = 0; i < s->snapshot.count; i++) {
        usable &= tu_usable(arrived[i]);
    }
    if (!usable) {
        return TU_BAD_CONFIG;
    }
    tu_snapshot_read(&s->snapshot, arrived, network_on, &model);
    s->restarts++;
    int status = tu_service_restart(s, &model);
    if (status != TU_OK) { /* its window does not fit this board */
        tu_service_restart(s, s->plan->model);
    }
    return status;
}

/* A piece of a model: offset, total count, CRC of the whole, fingerprint, numbers. */
static int take_piece(tu_service *s, const uint8_t *body, size_t bytes)
{
    enum { FACTS = 16 };
    tu_reporter *r = &s->reporter;
    if (bytes < FACTS + 4) {
        return TU_BAD_CONFIG;
    }
    uint32_t first = take(&body, 4), total = take(&body, 4), crc = take(&body, 4), fingerprint = take(&body, 4);
    uint32_t count = (uint32_t)(bytes - FACTS) / 4;
    if (fingerprint != s->plan->fingerprint || total != (uint32_t)s->snapshot.count || first > total ||
        count > total - first || s->write) {
        return TU_BAD_CONFIG;
    }
    if (first == 0) {
        r->arriving = tu_snapshot_begin(&s->snapshot);
        r->arrived = 0;
    }
    if (!r->arriving || first != r->arrived) {
        return first < r->arrived && r->arriving ? TU_OK : TU_BAD_CONFIG; /* a repeated piece is accepted */
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits = take(&body, 4);
        float single;
        memcpy(&single, &bits, sizeof single);
        r->arriving[first + i] = (tu_real)single;
    }
    r->arrived += count;
    return r->arrived == total ? start_from_arrived(s, crc) : TU_OK;
}

void tu_command(tu_service *s, const uint8_t *frame, size_t count)
{
    int type = frame[1], status = TU_BAD_CONFIG;
    if (type == TU_COMMAND_HELLO) {
        begin_parts(s, TU_FRAME_NAME);
        status = TU_OK;
    } else if (type == TU_COMMAND_MODEL) {
        status = tu_snapshot_model(&s->snapshot) ? TU_OK : TU_NOT_READY;
        begin_parts(s, TU_FRAME_MODEL);
    } else if (type == TU_COMMAND_TAKE) {
        status = take_piece(s, frame + TU_HEAD_BYTES, count - TU_HEAD_BYTES);
    } else if (type == TU_COMMAND_SAVE) {
        status = tu_service_save(s, s->reporter.storage);
    } else if (type == TU_COMMAND_RESET) {
        s->reporter.arriving = NULL;
        status = tu_service_restart(s, s->plan->model);
        s->restarts++;
    }
    tu_writer w = tu_frame_begin(s, TU_FRAME_REPLY);
    tu_put(&w, (uint32_t)type, 1);
    tu_put(&w, (uint32_t)(frame[2] | (uint32_t)frame[3] << 8), 2);
    tu_put(&w, (uint32_t)status & 0xffffu, 2);
    s->reporter.dropped += !tu_frame_send(s, &w);
}
