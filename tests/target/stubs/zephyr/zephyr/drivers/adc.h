/* What the sample uses of zephyr/drivers/adc.h. */
#ifndef ADC_H
#define ADC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adc_dt_spec {
    uint8_t channel_id;
};

struct adc_sequence {
    const void *options;
    uint32_t channels;
    void *buffer;
    size_t buffer_size;
};

#define ADC_DT_SPEC_GET_BY_IDX(node, index) {.channel_id = (index)}

bool adc_is_ready_dt(const struct adc_dt_spec *spec);
int adc_channel_setup_dt(const struct adc_dt_spec *spec);
int adc_sequence_init_dt(const struct adc_dt_spec *spec, struct adc_sequence *sequence);
int adc_read_dt(const struct adc_dt_spec *spec, const struct adc_sequence *sequence);

#endif
