/* The semihosting instruction, which differs by processor. */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stdint.h>

int semihost(int operation, const void *argument);

#endif
