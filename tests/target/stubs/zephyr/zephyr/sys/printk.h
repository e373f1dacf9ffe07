/* What the sample uses of zephyr/sys/printk.h. */
#ifndef PRINTK_H
#define PRINTK_H

__attribute__((format(printf, 1, 2))) void printk(const char *format, ...);

#endif
