/* Sends and receives single frames. */
#include "service/cobs.h"
#include "service/crc.h"
#include "service/telemetry.h"

#include <string.h>

void tu_put(tu_writer *writer, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes && writer->count < TU_FRAME_BYTES - TU_TAIL_BYTES; i++, value >>= 8) {
        writer->bytes[writer->count++] = (uint8_t)value;
    }
}

void tu_put_real(tu_writer *writer, tu_real value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    tu_put(writer, bits, 4);
}

tu_writer tu_frame_begin(tu_service *s, int type)
{
    tu_writer writer = {s->reporter.frame, 0};
    tu_put(&writer, TU_LINK_VERSION, 1);
    tu_put(&writer, (uint32_t)type, 1);
    tu_put(&writer, s->reporter.sequence & 0xffffu, 2);
    return writer;
}

int tu_frame_send(tu_service *s, tu_writer *writer)
{
    tu_reporter *r = &s->reporter;
    uint8_t stuffed[TU_COBS_BYTES(TU_FRAME_BYTES)];
    uint16_t crc = tu_crc16(TU_CRC16_START, writer->bytes, writer->count);
    writer->bytes[writer->count++] = (uint8_t)(crc & 255u);
    writer->bytes[writer->count++] = (uint8_t)(crc >> 8);
    size_t count = tu_cobs_encode(writer->bytes, writer->count, stuffed);
    if (!r->line.send(r->line.context, stuffed, count)) {
        return 0;
    }
    r->sequence++;
    return 1;
}

/* Handles a complete frame; ignores damaged ones. */
static void frame_arrived(tu_service *s)
{
    tu_reporter *r = &s->reporter;
    size_t count = tu_cobs_decode(r->in, r->in_count);
    if (count < TU_HEAD_BYTES + TU_TAIL_BYTES || r->in[0] != TU_LINK_VERSION) {
        return;
    }
    count -= TU_TAIL_BYTES;
    uint16_t crc = (uint16_t)(r->in[count] | (uint32_t)r->in[count + 1] << 8);
    if (crc == tu_crc16(TU_CRC16_START, r->in, count)) {
        tu_command(s, r->in, count);
    }
}

void tu_service_receive(tu_service *s, const uint8_t *bytes, size_t count)
{
    tu_reporter *r = &s->reporter;
    for (size_t i = 0; i < count && s->report; i++) {
        if (bytes[i] == 0) {
            if (!r->in_spoilt && r->in_count) {
                frame_arrived(s);
            }
            r->in_count = 0;
            r->in_spoilt = 0;
        } else if (r->in_count < sizeof r->in) {
            r->in[r->in_count++] = bytes[i];
        } else {
            r->in_spoilt = 1;
        }
    }
}
