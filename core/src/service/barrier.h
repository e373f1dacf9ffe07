/* What was written before is seen before what is written after: by interrupts, and by a second core. */
#ifndef TU_BARRIER_H
#define TU_BARRIER_H

#if defined(__XTENSA__) || defined(__xtensa__)
#define TU_BARRIER() __asm__ volatile("memw" : : : "memory")
#elif defined(__GNUC__)
#define TU_BARRIER() __sync_synchronize()
#else
#define TU_BARRIER() /* volatile alone: enough on one core without reordering */
#endif

#endif
