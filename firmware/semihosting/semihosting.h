/* The one instruction of semihosting that processors spell differently. */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stdint.h>

int semihost(int operation, const void *argument);

#endif
