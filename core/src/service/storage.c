/* Saving in pieces, between samples; loading before the first. */
#include "service/service_state.h"

uint32_t tu_service_save_bytes(tu_service *s) { return tu_image_bytes(s->learner); }

/* Writes a piece of the image. Returns 1 while there are more. */
static int write_piece(tu_service *s)
{
    int status = tu_image_write(&s->writer, s->learner, s->plan->fingerprint);
    s->saves += status == 0;
    s->save_errors += status < 0;
    return status > 0;
}

int tu_service_save(tu_service *s, const tu_storage *storage)
{
    if (s->write) {
        return TU_OK;
    }
    int status = tu_image_begin(&s->writer, s->learner, storage, s->plan->fingerprint);
    if (status == TU_OK) {
        s->write = write_piece;
    }
    return status;
}

int tu_service_load(tu_service *s, const tu_storage *storage)
{
    int status = tu_image_load(&s->writer, s->learner, storage, s->plan->fingerprint);
    if (status == TU_STORAGE_FAILED) { /* a partial state is not usable */
        tu_service_restart(s, s->plan->model);
    }
    if (status == TU_OK) {
        s->busy = s->waiting = 0;
        s->write = NULL;
    }
    if (status == TU_OK && s->learner->calibrated) {
        tu_service_publish(s);
    }
    return status;
}
