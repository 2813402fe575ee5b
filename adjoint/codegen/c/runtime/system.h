/* The run-time library: what every kernel stands on.

   A kernel is a range function: it computes the units `begin..end` of its work (rows, blocks, tiles) and nothing of it
   depends on where the range was cut. So all parallelism can live here. The files are one unit, in this order:

     system.h      what we need of the system and the processor
     interface.h   what others call, with its types: also the declarations that cffi reads
     work.c        a kernel, or consecutive steps of a table that do not depend on each other, cut into parts
     pool.c        threads that sleep when idle, answer within microseconds when busy, and survive fork()
     launch.c      splits the units of a kernel, or of a batch of steps, over the threads of the pool
     table.c       runs a list of kernels one after the other, with branches and loops between them, in one call
     stacks.c      what the rounds of a loop leave for its gradient
     memory.c      aligned blocks, kept for the next request of their size, refused when the machine cannot hold them
     process.c     what happens when the library is loaded, and when the process forks

   They need C11, POSIX threads and nothing else. They are compiled once, into a library of their own, which is never
   unloaded. No function changes the floating-point state of the thread that calls it. */

#if defined(__APPLE__)
#define _DARWIN_C_SOURCE
#else
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

enum { LINE = 64 /* bytes of a line of the processor's cache */ };

/* Rounding mode and treatment of subnormals. A worker takes over the launcher's, so that a value cannot depend on which
   thread computed it. */
static unsigned float_control(void) {
#if defined(__SSE__)
    return _mm_getcsr() & ~(unsigned)_MM_EXCEPT_MASK;
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return (unsigned)control;
#else
    return 0;
#endif
}

static void set_float_control(unsigned control) {
#if defined(__SSE__)
    _mm_setcsr(control);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)control));
#else
    (void)control;
#endif
}

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

static int processors(void) {
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}
