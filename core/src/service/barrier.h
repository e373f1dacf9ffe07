/* Memory barrier: interrupts and a second core see earlier writes before later ones. */
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
