/* What every kernel stands on: threads, memory, and the way a kernel is started.

   A kernel is a range function: it computes the units `begin..end` of its work (rows, blocks, tiles) and nothing of it
   depends on where the range was cut. So all parallelism can live here:

     launch    splits the units of one kernel over the threads of the pool
     table     runs a list of kernels one after the other, with branches and loops between them, in one call
     batch     consecutive steps of a table that do not depend on each other, run as one launch over all of their units
     pool      threads that sleep when idle, answer within microseconds when busy, and survive fork()
     stacks    what the rounds of a loop leave for its gradient
     memory    aligned blocks, kept for the next request of their size, refused when the machine cannot hold them

   The file needs C11, POSIX threads and nothing else. It is compiled once, into a library of its own, and never
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

/* interface begin: the text down to "interface end" is also the declaration that cffi reads; after a change `make docs`
   brings it to `declarations.py` */

/* Computes units begin..end. `operand` holds inputs, then outputs, then scratch; `size` the run-time integers, of which
   the first two belong to the launcher: size[0] units in all, size[1] units per thread below which splitting does not
   pay. The kernel's own sizes begin at size[2]. Returns 0, or a status that says what went wrong. */
typedef int (*adjoint_kernel)(void *const *operand, const int64_t *size, int64_t begin, int64_t end);

/* A kernel and the sizes it is started with, in one piece: to who launches it, one argument. */
struct adjoint_bound {
    adjoint_kernel kernel;
    int64_t size[];
};

/* An operand of a step: `offset` bytes into block number `block` of the run. */
struct adjoint_operand {
    int64_t offset;
    int64_t block;
};

/* What a step of a table does: starts a kernel; goes on elsewhere; lets blocks of the run change places. */
enum { ADJOINT_LAUNCH, ADJOINT_BRANCH, ADJOINT_EXCHANGE };

/* One step of a table.
   launch    `bound` runs on the operands. `batch` counts the steps from this one on that run as one launch: none of them
             reads or writes what another one writes. It is 1 for a step that runs alone; that of the other steps of a
             batch has no meaning.
   branch    the run goes on at step `target` if there is no operand, or if the operand, a bool, is false.
   exchange  the block of each operand becomes the memory of that of the next one, the last that of the first. */
struct adjoint_step {
    int64_t kind;
    const struct adjoint_bound *bound;
    const struct adjoint_operand *operand;
    int64_t operands;
    int64_t batch;
    int64_t target;
};

/* Steps with nothing between them. A table is only read, so that several threads may run it at a time. */
struct adjoint_table {
    const struct adjoint_step *step;
    int64_t steps;
    int64_t widest;                    /* the largest number of operands of a step */
    const struct adjoint_operand *own; /* where the blocks that only the table uses begin: in which of the others */
    int64_t given, owned;              /* how many blocks the caller gives, and how many follow these that are the table's */
};

/* What observes launches: called after each that has not failed, on the thread that launches, with its operands and the time
   that it took. `table` is NULL for a launch by itself. A number other than 0 becomes the status of the launch. */
typedef int (*adjoint_observer)(const struct adjoint_table *table, int64_t step, const struct adjoint_bound *bound,
                                void *const *operand, int64_t nanoseconds);

/* Sets what observes all launches from now on, of a batch each one; NULL: nothing does, as at first. */
void adjoint_observe(adjoint_observer observer);

/* Runs all units of one kernel, on as many threads as pay. Returns the status of the first range that failed, or 0. */
int adjoint_launch(const struct adjoint_bound *bound, void *const *operand);
int adjoint_launch1(const struct adjoint_bound *bound, void *a);
int adjoint_launch2(const struct adjoint_bound *bound, void *a, void *b);
int adjoint_launch3(const struct adjoint_bound *bound, void *a, void *b, void *c);
int adjoint_launch4(const struct adjoint_bound *bound, void *a, void *b, void *c, void *d);
int adjoint_launch5(const struct adjoint_bound *bound, void *a, void *b, void *c, void *d, void *e);
int adjoint_launch6(const struct adjoint_bound *bound, void *a, void *b, void *c, void *d, void *e, void *f);

/* Runs a table of launches only on these blocks of memory. At the first that fails: stops, and returns its index times
   2^32, plus its status. Returns 0 if none fails. */
int64_t adjoint_run(const struct adjoint_table *table, void *const *block);

/* Runs any table, in several calls. First `adjoint_place` sets the blocks that are the table's own, behind those of the
   caller. Then `adjoint_resume` runs from step `begin` on: 0 at first. It returns 0 at the end of the table, what
   `adjoint_run` returns if a launch fails, and -1 - i where it pauses: to be called again for step i. It pauses before
   it takes another round of a loop if it has run for some time: so that a loop which does not end can be interrupted. */
void adjoint_place(const struct adjoint_table *table, void **block);
int64_t adjoint_resume(const struct adjoint_table *table, void **block, int64_t begin);

/* Kernels that loops need besides those of ops; a bound one is made of their address and sizes like of any other.
   copy   in, out                                        size[2] bytes
   range  start, stop, step, index, left, more           begins the loop `for index in range(start, stop, step)`
   next   step, index, left, more                        begins its next round
   All but `more`, a bool that says whether there is a round, are int64. Range returns 1 if step is 0. */
int adjoint_copy(void *const *operand, const int64_t *size, int64_t begin, int64_t end);
int adjoint_range(void *const *operand, const int64_t *size, int64_t begin, int64_t end);
int adjoint_next(void *const *operand, const int64_t *size, int64_t begin, int64_t end);

/* A stack: what a loop leaves for its gradient, last in first out. An item is bytes, or a stack, which is then moved. */
struct adjoint_stack {
    void *top;
    int64_t depth; /* 0 for items of bytes; for items that are stacks one more than theirs */
};

/* Memory for stacks, which are empty at first: `bytes` is a multiple of the size of one. NULL if the machine cannot hold it.
   Freeing it frees what is on them too. */
void *adjoint_allocate_stacks(size_t bytes);
void adjoint_free_stacks(void *stacks);

/* Kernels on stacks.
   empty  stack                       size[2] its depth from now on
   push   stack, item                 size[2] bytes of an item; of a stack, which is empty afterwards, -1. Returns 1 without memory
   pop    stack, item                 likewise. Returns 1 if the stack is empty
   move   stack, stack                from the first to the second, which loses what it had */
int adjoint_empty(void *const *operand, const int64_t *size, int64_t begin, int64_t end);
int adjoint_push(void *const *operand, const int64_t *size, int64_t begin, int64_t end);
int adjoint_pop(void *const *operand, const int64_t *size, int64_t begin, int64_t end);
int adjoint_move(void *const *operand, const int64_t *size, int64_t begin, int64_t end);

/* Sets how many threads a launch may use, the caller included; 0 or less: one per processor this process may run on. */
void adjoint_set_threads(int threads);
int adjoint_threads(void);

/* A block of at least `bytes` bytes, 64-byte aligned, contents undefined. NULL if the machine cannot hold it. */
void *adjoint_allocate(size_t bytes);
void adjoint_free(void *block);

/* Bytes of the blocks in use, each counted at the size it was rounded up to; their largest sum since the last reset;
   bytes of the blocks kept for reuse. */
size_t adjoint_allocated(void);
size_t adjoint_peak(void);
size_t adjoint_cached(void);
void adjoint_reset_peak(void);

/* Counts memory from elsewhere as blocks in use; a negative number: it is no longer. */
void adjoint_count(int64_t bytes);

/* Bounds, in bytes. Memory: what blocks in use may sum up to (0: all of the physical memory, the initial value).
   Cache: what may be kept for reuse (256 MiB at first); shrinking it gives memory back at once. */
void adjoint_set_memory_limit(size_t bytes);
void adjoint_set_cache_limit(size_t bytes);

/* interface end */

/* ---- pool ------------------------------------------------------------------------------------------------------

   Each worker owns one word, `state`, which says all that there is to say between it and the launcher:

        IDLE --offer--> OFFERED --take--> TAKEN --done--> IDLE           (launcher, worker, worker)
        IDLE --sleep--> ASLEEP --offer--> OFFERED                        (worker; the launcher also signals)
        OFFERED --retract--> IDLE                                        (launcher)

   The ranges are cut before anything starts, one per thread. A launcher that has finished its own range takes back
   those whose worker has not yet woken up and computes them itself: a launch never waits for a sleeper. */

enum { MAX_THREADS = 256, LINE = 64, STACK = 8 << 20 /* bytes; a kernel may hold a packed panel on it */ };

/* How long a thread watches a word before it sleeps, in nanoseconds. A worker bridges the gap between two kernels of
   one program or two calls from Python; a launcher the difference between two equal ranges. */
enum { WORKER_PATIENCE = 20000, LAUNCHER_PATIENCE = 100000 };

enum state { IDLE, ASLEEP, OFFERED, TAKEN };

struct worker {
    _Alignas(2 * LINE) _Atomic int state; /* alone on its lines (processors fetch them in pairs): it is watched */
    int status;                           /* of the range, valid once the state is no longer TAKEN */
    int part;                             /* index of this worker's range; 0 is the launcher's */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
};

/* Steps of a table that run as one launch, on these blocks of memory. */
struct batch {
    const struct adjoint_step *step;
    int64_t steps, widest; /* as in a table */
    void *const *block;
    double work; /* of all steps; see `work_of` */
};

/* What the workers compute now: a kernel, or a batch. Written by the launcher before it offers, read by a worker that
   has taken. */
struct job {
    adjoint_kernel kernel;
    void *const *operand;
    const int64_t *size;
    const struct batch *batch; /* NULL for one kernel */
    int parts;
    unsigned float_control;
};

enum { LAUNCHER_ASLEEP = 1 << 30 };

static struct {
    _Atomic bool busy;   /* held by the one launcher that uses the pool; guards `started` and `job` */
    _Atomic int threads; /* as set by the user; 0 before anyone asked */
    int started;         /* workers that exist, at indices 1..started */
    struct job job;
    _Alignas(2 * LINE) _Atomic int pending; /* ranges not yet computed, plus LAUNCHER_ASLEEP */
    pthread_mutex_t mutex;
    pthread_cond_t done;
    struct worker worker[MAX_THREADS];
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

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

void adjoint_set_threads(int threads) {
    if (threads <= 0) threads = processors();
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    atomic_store_explicit(&pool.threads, threads, memory_order_relaxed);
}

int adjoint_threads(void) {
    int threads = atomic_load_explicit(&pool.threads, memory_order_relaxed);
    if (threads == 0) {
        adjoint_set_threads(0);
        threads = atomic_load_explicit(&pool.threads, memory_order_relaxed);
    }
    return threads;
}

static void place_operands(const struct adjoint_step *step, void *const *block, void **operand) {
    for (int64_t k = 0; k < step->operands; k++)
        operand[k] = (char *)block[step->operand[k].block] + step->operand[k].offset;
}

static double grain_of(const struct adjoint_step *step) {
    int64_t grain = step->bound->size[1];
    return grain > 0 ? (double)grain : 1;
}

/* The work of a step: how many threads it is enough for. This compares kernels whose units differ. */
static double work_of(const struct adjoint_step *step) {
    int64_t units = step->bound->size[0];
    return units > 0 ? (double)units / grain_of(step) : 0;
}

/* The unit of a step at which part `part` of a batch begins, if the steps before it have the work `before`. Its value at the
   end of one part is that at the begin of the next, since both are computed here. */
static int64_t cut(const struct adjoint_step *step, double before, double work, int part, int parts) {
    int64_t units = step->bound->size[0];
    if (part >= parts) return units;
    double at = (work * part / parts - before) * grain_of(step);
    return at <= 0 ? 0 : at >= (double)units ? units : (int64_t)at;
}

/* Computes part `part` of the units of all steps, one after the other. */
static int compute_batch(const struct batch *batch, int part, int parts) {
    void *operand[batch->widest + 1];
    double before = 0;
    int status = 0;
    for (int64_t i = 0; i < batch->steps && status == 0; i++) {
        const struct adjoint_step *step = &batch->step[i];
        double work = work_of(step);
        if (work > 0) {
            int64_t begin = cut(step, before, batch->work, part, parts);
            int64_t end = cut(step, before, batch->work, part + 1, parts);
            if (begin < end) {
                place_operands(step, batch->block, operand);
                status = step->bound->kernel(operand, step->bound->size, begin, end);
            }
        }
        before += work;
    }
    return status;
}

/* Computes part `part` of `job->parts`: of a kernel a contiguous range, of which the first few are one unit longer. */
static int compute(const struct job *job, int part) {
    if (job->batch) return compute_batch(job->batch, part, job->parts);
    int64_t length = job->size[0] / job->parts, longer = job->size[0] % job->parts;
    int64_t begin = part * length + (part < longer ? part : longer);
    int64_t end = begin + length + (part < longer);
    return job->kernel(job->operand, job->size, begin, end);
}

/* Waits until the launcher has offered a range, and takes it. */
static void take(struct worker *self) {
    for (;;) {
        int64_t deadline = nanoseconds() + WORKER_PATIENCE;
        do {
            for (int i = 0; i < 16; i++) {
                int offered = OFFERED;
                if (atomic_load_explicit(&self->state, memory_order_relaxed) == OFFERED &&
                    atomic_compare_exchange_strong(&self->state, &offered, TAKEN))
                    return;
                relax();
            }
        } while (nanoseconds() < deadline);

        int idle = IDLE;
        if (!atomic_compare_exchange_strong(&self->state, &idle, ASLEEP)) continue;
        pthread_mutex_lock(&self->mutex);
        while (atomic_load(&self->state) == ASLEEP) pthread_cond_wait(&self->wake, &self->mutex);
        pthread_mutex_unlock(&self->mutex);
    }
}

static void *work(void *argument) {
    struct worker *self = argument;
    for (;;) {
        take(self);
        set_float_control(pool.job.float_control);
        self->status = compute(&pool.job, self->part);
        atomic_store(&self->state, IDLE);
        if (atomic_fetch_sub(&pool.pending, 1) == (LAUNCHER_ASLEEP | 1)) {
            pthread_mutex_lock(&pool.mutex);
            pthread_cond_signal(&pool.done);
            pthread_mutex_unlock(&pool.mutex);
        }
    }
    return NULL;
}

/* Makes sure that `wanted` workers exist; returns how many do, fewer if the system refuses. */
static int start_workers(int wanted) {
    if (pool.started >= wanted) return wanted;
    sigset_t all, before; /* signals are for the threads of the program, not for ours */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    while (pool.started < wanted) {
        int part = pool.started + 1;
        struct worker *worker = &pool.worker[part];
        worker->part = part;
        worker->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        worker->wake = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
        atomic_store(&worker->state, IDLE);
        pthread_t thread;
        if (pthread_create(&thread, &attributes, work, worker) != 0) break;
        pool.started = part;
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool.started < wanted ? pool.started : wanted;
}

static void offer(struct worker *worker) {
    if (atomic_exchange(&worker->state, OFFERED) != ASLEEP) return;
    pthread_mutex_lock(&worker->mutex); /* the worker is in wait(), or has not looked at its state yet */
    pthread_mutex_unlock(&worker->mutex);
    pthread_cond_signal(&worker->wake);
}

static bool retract(struct worker *worker) {
    int offered = OFFERED;
    return atomic_compare_exchange_strong(&worker->state, &offered, IDLE);
}

static void wait_for_workers(void) {
    int64_t deadline = nanoseconds() + LAUNCHER_PATIENCE;
    do {
        for (int i = 0; i < 64; i++) {
            if (atomic_load_explicit(&pool.pending, memory_order_acquire) == 0) return;
            relax();
        }
    } while (nanoseconds() < deadline);

    if (atomic_fetch_or(&pool.pending, LAUNCHER_ASLEEP) == 0) return;
    pthread_mutex_lock(&pool.mutex);
    while (atomic_load(&pool.pending) != LAUNCHER_ASLEEP) pthread_cond_wait(&pool.done, &pool.mutex);
    pthread_mutex_unlock(&pool.mutex);
}

/* Computes a job in its parts, one per thread. A second launcher, or a kernel that launches, finds the pool busy and
   computes all of it itself. */
static int compute_parts(struct job job) {
    if (job.parts < 2 || atomic_exchange_explicit(&pool.busy, true, memory_order_acquire)) {
        job.parts = 1;
        return compute(&job, 0);
    }
    int parts = 1 + start_workers(job.parts - 1);
    job.parts = parts;
    job.float_control = float_control();
    pool.job = job;
    atomic_store_explicit(&pool.pending, parts - 1, memory_order_relaxed);
    for (int part = 1; part < parts; part++) offer(&pool.worker[part]);

    int status = compute(&pool.job, 0);
    for (int part = parts - 1; part > 0; part--) {
        if (!retract(&pool.worker[part])) continue;
        pool.worker[part].status = compute(&pool.job, part);
        atomic_fetch_sub(&pool.pending, 1);
    }
    wait_for_workers();
    for (int part = 1; part < parts && status == 0; part++) status = pool.worker[part].status;

    atomic_store_explicit(&pool.busy, false, memory_order_release);
    return status;
}

/* ---- launch ------------------------------------------------------------------------------------------------- */

/* Launches a kernel with more units than one thread should compute. */
static int launch_parallel(adjoint_kernel kernel, const int64_t *size, void *const *operand) {
    int64_t grain = size[1] > 0 ? size[1] : 1;
    int threads = adjoint_threads();
    int parts = size[0] / grain < threads ? (int)(size[0] / grain) : threads;
    return compute_parts((struct job){.kernel = kernel, .operand = operand, .size = size, .parts = parts});
}

static int launch_batch(const struct adjoint_step *step, int64_t steps, int64_t widest, void *const *block) {
    struct batch batch = {step, steps, widest, block, 0};
    for (int64_t i = 0; i < steps; i++) batch.work += work_of(&step[i]);
    int threads = adjoint_threads();
    int parts = batch.work < threads ? (int)batch.work : threads;
    return compute_parts((struct job){.batch = &batch, .parts = parts});
}

static inline int launch(adjoint_kernel kernel, const int64_t *size, void *const *operand) {
    if (size[0] <= 0) return 0; /* a kernel may divide by sizes that are 0 where there is nothing to compute */
    if (size[0] <= size[1]) return kernel(operand, size, 0, size[0]);
    return launch_parallel(kernel, size, operand);
}

static _Atomic(adjoint_observer) observer;

void adjoint_observe(adjoint_observer wanted) {
    atomic_store(&observer, wanted);
}

static int launch_observed(const struct adjoint_table *table, int64_t step, const struct adjoint_bound *bound, void *const *operand) {
    int64_t begin = nanoseconds();
    int status = launch(bound->kernel, bound->size, operand);
    int64_t end = nanoseconds();
    adjoint_observer observes = atomic_load(&observer);
    return status == 0 && observes ? observes(table, step, bound, operand, end - begin) : status;
}

static inline bool is_observed(void) {
    return __builtin_expect(atomic_load_explicit(&observer, memory_order_relaxed) != NULL, false);
}

static inline int launch_alone(const struct adjoint_bound *bound, void *const *operand) {
    if (is_observed()) return launch_observed(NULL, 0, bound, operand);
    return launch(bound->kernel, bound->size, operand);
}

int adjoint_launch(const struct adjoint_bound *bound, void *const *operand) {
    return launch_alone(bound, operand);
}

int adjoint_launch1(const struct adjoint_bound *bound, void *a) {
    return launch_alone(bound, (void *[]){a});
}

int adjoint_launch2(const struct adjoint_bound *bound, void *a, void *b) {
    return launch_alone(bound, (void *[]){a, b});
}

int adjoint_launch3(const struct adjoint_bound *bound, void *a, void *b, void *c) {
    return launch_alone(bound, (void *[]){a, b, c});
}

int adjoint_launch4(const struct adjoint_bound *bound, void *a, void *b, void *c, void *d) {
    return launch_alone(bound, (void *[]){a, b, c, d});
}

int adjoint_launch5(const struct adjoint_bound *bound, void *a, void *b, void *c, void *d, void *e) {
    return launch_alone(bound, (void *[]){a, b, c, d, e});
}

int adjoint_launch6(const struct adjoint_bound *bound, void *a, void *b, void *c, void *d, void *e, void *f) {
    return launch_alone(bound, (void *[]){a, b, c, d, e, f});
}

/* Runs a launch, or the batch that begins with it. */
static inline int launch_step(const struct adjoint_table *table, const struct adjoint_step *step, void *const *block, void **operand) {
    if (is_observed()) {
        int status = 0;
        for (int64_t k = 0; k < step->batch && status == 0; k++) {
            place_operands(&step[k], block, operand);
            status = launch_observed(table, step + k - table->step, step[k].bound, operand);
        }
        return status;
    }
    if (step->batch > 1) return launch_batch(step, step->batch, table->widest, block);
    place_operands(step, block, operand);
    return launch(step->bound->kernel, step->bound->size, operand);
}

int64_t adjoint_run(const struct adjoint_table *table, void *const *block) {
    void *operand[table->widest + 1]; /* an array has at least one element */
    for (int64_t i = 0; i < table->steps; i += table->step[i].batch) {
        int status = launch_step(table, &table->step[i], block, operand);
        if (status != 0) return (i << 32) + status;
    }
    return 0;
}

/* ---- loops -----------------------------------------------------------------------------------------------------

   The steps of a loop are followed by a branch back to its test. A carried value has a block of its own, and so has the
   value that the round computes for the next: at the end of a round the two change places, and nothing is copied. */

enum { PATIENCE = 20000000, LOOK = 1000000 /* nanoseconds: of a call that may pause; between two looks at the clock */ };

/* Counts rounds, and looks at the clock seldom. */
struct watch {
    int64_t begin, last; /* nanoseconds; 0 before the first look */
    int64_t rounds, until; /* rounds since the last look, and at how many comes the next */
};

/* Says at the begin of another round whether the call has lasted for long enough. */
static bool patience_ends(struct watch *watch) {
    if (++watch->rounds < watch->until) return false;
    int64_t now = nanoseconds();
    if (watch->begin == 0) watch->begin = now;
    if (now - watch->begin >= PATIENCE) return true;
    watch->until = now - watch->last < LOOK / 2 || watch->last == 0 ? 2 * watch->until : 1;
    watch->rounds = 0;
    watch->last = now;
    return false;
}

static void exchange(const struct adjoint_step *step, void **block) {
    void *first = block[step->operand[0].block];
    int64_t last = step->operands - 1;
    for (int64_t k = 0; k < last; k++) block[step->operand[k].block] = block[step->operand[k + 1].block];
    block[step->operand[last].block] = first;
}

void adjoint_place(const struct adjoint_table *table, void **block) {
    for (int64_t k = 0; k < table->owned; k++)
        block[table->given + k] = (char *)block[table->own[k].block] + table->own[k].offset;
}

int64_t adjoint_resume(const struct adjoint_table *table, void **block, int64_t begin) {
    void *operand[table->widest + 1];
    struct watch watch = {.until = 1};
    for (int64_t i = begin; i < table->steps;) {
        const struct adjoint_step *step = &table->step[i];
        switch (step->kind) {
        case ADJOINT_BRANCH: {
            place_operands(step, block, operand);
            if (step->operands > 0 && *(const bool *)operand[0]) {
                i++;
                break;
            }
            bool again = step->target <= i;
            i = step->target;
            if (again && patience_ends(&watch)) return -1 - i;
            break;
        }
        case ADJOINT_EXCHANGE:
            exchange(step, block);
            i++;
            break;
        default: {
            int status = launch_step(table, step, block, operand);
            if (status != 0) return (i << 32) + status;
            i += step->batch;
        }
        }
    }
    return 0;
}

int adjoint_copy(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)begin, (void)end;
    if (operand[0] != operand[1]) memcpy(operand[1], operand[0], (size_t)size[2]);
    return 0;
}

int adjoint_range(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)size, (void)begin, (void)end;
    int64_t start = *(const int64_t *)operand[0], stop = *(const int64_t *)operand[1], step = *(const int64_t *)operand[2];
    uint64_t rounds = 0; /* unsigned differences do not overflow */
    if (step == 0) return 1;
    if (step > 0 && start < stop) rounds = ((uint64_t)stop - (uint64_t)start - 1) / (uint64_t)step + 1;
    if (step < 0 && start > stop) rounds = ((uint64_t)start - (uint64_t)stop - 1) / (0 - (uint64_t)step) + 1;
    *(int64_t *)operand[3] = start;
    *(uint64_t *)operand[4] = rounds;
    *(bool *)operand[5] = rounds > 0;
    return 0;
}

int adjoint_next(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)size, (void)begin, (void)end;
    uint64_t left = --*(uint64_t *)operand[2];
    *(bool *)operand[3] = left > 0;
    if (left > 0) *(int64_t *)operand[1] += *(const int64_t *)operand[0];
    return 0;
}

/* ---- stacks ----------------------------------------------------------------------------------------------------

   Items lie in chunks, each twice as large as the one below, up to a bound. Nothing is copied when a stack grows, and a chunk
   is freed with its last item: the way back through a loop gives back memory round by round. */

enum { FIRST_CHUNK = 1024, LARGEST_CHUNK = 1 << 20 /* bytes; a chunk holds at least one item */ };

struct chunk {
    struct chunk *below;
    size_t used, bytes; /* of the items, which begin one line further on */
};

_Static_assert(sizeof(struct chunk) <= LINE, "the header of a chunk is one line");

static char *items_of(struct chunk *chunk) {
    return (char *)chunk + LINE;
}

static void empty(struct adjoint_stack *stack) {
    while (stack->top != NULL) {
        struct chunk *chunk = stack->top;
        for (size_t i = 0; stack->depth > 0 && i < chunk->used; i += sizeof *stack)
            empty((struct adjoint_stack *)(void *)(items_of(chunk) + i));
        stack->top = chunk->below;
        adjoint_free(chunk);
    }
}

/* The stacks are preceded by a line that says how many bytes they take. */
void *adjoint_allocate_stacks(size_t bytes) {
    char *made = bytes > SIZE_MAX - LINE ? NULL : adjoint_allocate(LINE + bytes);
    if (made == NULL) return NULL;
    memcpy(made, &bytes, sizeof bytes);
    memset(made + LINE, 0, bytes);
    return made + LINE;
}

void adjoint_free_stacks(void *stacks) {
    if (stacks == NULL) return;
    char *made = (char *)stacks - LINE;
    size_t bytes;
    memcpy(&bytes, made, sizeof bytes);
    for (struct adjoint_stack *stack = stacks; (char *)stack < made + LINE + bytes; stack++) empty(stack);
    adjoint_free(made);
}

int adjoint_empty(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)begin, (void)end;
    struct adjoint_stack *stack = operand[0];
    empty(stack);
    stack->depth = size[2];
    return 0;
}

static struct chunk *chunk_above(struct chunk *below, size_t item) {
    size_t bytes = below == NULL ? FIRST_CHUNK : 2 * below->bytes;
    if (bytes > LARGEST_CHUNK) bytes = LARGEST_CHUNK;
    if (bytes < item) bytes = item;
    struct chunk *chunk = bytes > SIZE_MAX - LINE ? NULL : adjoint_allocate(LINE + bytes);
    if (chunk != NULL) *chunk = (struct chunk){below, 0, bytes};
    return chunk;
}

int adjoint_push(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)begin, (void)end;
    struct adjoint_stack *stack = operand[0];
    size_t bytes = size[2] < 0 ? sizeof *stack : (size_t)size[2];
    if (bytes == 0) return 0;
    struct chunk *chunk = stack->top;
    if (chunk == NULL || chunk->bytes - chunk->used < bytes) {
        chunk = chunk_above(chunk, bytes);
        if (chunk == NULL) return 1;
        stack->top = chunk;
    }
    memcpy(items_of(chunk) + chunk->used, operand[1], bytes);
    chunk->used += bytes;
    if (size[2] < 0) ((struct adjoint_stack *)operand[1])->top = NULL;
    return 0;
}

int adjoint_pop(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)begin, (void)end;
    struct adjoint_stack *stack = operand[0];
    size_t bytes = size[2] < 0 ? sizeof *stack : (size_t)size[2];
    if (bytes == 0) return 0;
    struct chunk *chunk = stack->top;
    if (chunk == NULL) return 1;
    if (size[2] < 0) empty(operand[1]);
    chunk->used -= bytes;
    memcpy(operand[1], items_of(chunk) + chunk->used, bytes);
    if (chunk->used == 0) {
        stack->top = chunk->below;
        adjoint_free(chunk);
    }
    return 0;
}

int adjoint_move(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    (void)size, (void)begin, (void)end;
    struct adjoint_stack *from = operand[0], *to = operand[1];
    if (from == to) return 0;
    empty(to);
    *to = *from;
    from->top = NULL;
    return 0;
}

/* ---- memory ----------------------------------------------------------------------------------------------------

   A block is one line of header followed by its payload, whose size is rounded up to a class: 1..8 lines in steps of
   one, from there on four steps per doubling, so that at most a fifth of a block is lost. A freed block goes on the
   stack of its class and serves the next request of that class, warm and without a page fault. Blocks from 2 MiB on are
   mapped, on huge pages where the system has them.

   When the cache overflows, it gives back blocks of the class that was not asked for for the longest time: a size that
   the program no longer uses goes first. Blocks up to 4 KiB have a small budget of their own, which large ones cannot
   eat.

   One lock guards everything. It is held for a few instructions, never over a call to the system. */

enum {
    CLASSES = 4 * 58,       /* enough for 2^64 bytes */
    SMALL = 4096,           /* payloads up to here count against SMALL_CACHE, bytes */
    SMALL_CACHE = 16 << 20, /* bytes */
    MAPPED = 2 << 20,       /* payloads from here on are mapped; also the size and alignment of a huge page, bytes */
};

struct block {
    struct block *next; /* in the stack of free blocks of its class */
    size_t bytes;       /* of the payload */
    int class;
};

_Static_assert(sizeof(struct block) <= LINE, "the header of a block is one line");

static struct {
    pthread_mutex_t mutex;
    size_t allocated, peak;           /* bytes in use */
    size_t cached, small_cached;      /* bytes kept: above SMALL, up to SMALL */
    size_t memory_limit, cache_limit; /* bytes; a memory limit of 0 is not yet known */
    uint64_t requests;                /* a clock for `last_used` */
    struct block *free[CLASSES];
    uint64_t last_used[CLASSES];
} memory = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cache_limit = (size_t)256 << 20};

/* The class of a payload, and through `rounded` the size that all blocks of this class have. */
static int class_of(size_t bytes, size_t *rounded) {
    size_t last = bytes > 0 ? (bytes - 1) / LINE : 0; /* index of the last line */
    int shift = last < 4 ? 0 : 61 - __builtin_clzll(last);
    *rounded = ((last >> shift) + 1) << shift;
    *rounded *= LINE;
    return 4 * shift + (int)(last >> shift);
}

static size_t physical_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX / 2;
}

/* Bytes that a mapped block takes from the system: header and payload, in whole huge pages. */
static size_t mapped_length(size_t bytes) {
    return (bytes + LINE + MAPPED - 1) & ~(size_t)(MAPPED - 1);
}

/* Maps `length` bytes at a multiple of the huge page: maps one page too many, then gives back both ends. */
static void *map(size_t length) {
    char *start = mmap(NULL, length + MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (start == MAP_FAILED) return NULL;
    size_t before = (size_t)(-(uintptr_t)start & (MAPPED - 1));
    if (before > 0) munmap(start, before);
    if (before < MAPPED) munmap(start + before + length, MAPPED - before);
#if defined(MADV_HUGEPAGE)
    madvise(start + before, length, MADV_HUGEPAGE);
#endif
    return start + before;
}

static struct block *obtain(size_t bytes) {
    if (bytes >= MAPPED) return map(mapped_length(bytes));
    void *block;
    return posix_memalign(&block, LINE, LINE + bytes) == 0 ? block : NULL;
}

static void release(struct block *block) {
    while (block) {
        struct block *next = block->next;
        if (block->bytes >= MAPPED)
            munmap(block, mapped_length(block->bytes));
        else
            free(block);
        block = next;
    }
}

/* Takes blocks out of the cache until `limit` bytes are left, and returns them as a list for `release`. The caller
   holds the lock. */
static struct block *evict(size_t limit) {
    struct block *evicted = NULL;
    while (memory.cached > limit) {
        int oldest = -1;
        for (int class = 0; class < CLASSES; class++) {
            if (memory.free[class] == NULL || memory.free[class]->bytes <= SMALL) continue;
            if (oldest < 0 || memory.last_used[class] < memory.last_used[oldest]) oldest = class;
        }
        struct block *block = memory.free[oldest];
        memory.free[oldest] = block->next;
        memory.cached -= block->bytes;
        block->next = evicted;
        evicted = block;
    }
    return evicted;
}

void *adjoint_allocate(size_t bytes) {
    if (bytes > SIZE_MAX / 4) return NULL; /* beyond this, rounding up could overflow */
    size_t rounded;
    int class = class_of(bytes, &rounded);

    pthread_mutex_lock(&memory.mutex);
    if (memory.memory_limit == 0) memory.memory_limit = physical_memory();
    if (bytes > memory.memory_limit || memory.allocated > memory.memory_limit - bytes) {
        pthread_mutex_unlock(&memory.mutex);
        return NULL;
    }
    memory.last_used[class] = ++memory.requests;
    memory.allocated += rounded;
    if (memory.allocated > memory.peak) memory.peak = memory.allocated;
    struct block *block = memory.free[class], *evicted = NULL;
    if (block) {
        memory.free[class] = block->next;
        *(rounded <= SMALL ? &memory.small_cached : &memory.cached) -= rounded;
    } else if (memory.cached > 0 && memory.allocated + memory.cached > memory.memory_limit) {
        evicted = evict(0); /* what we only keep must not take the room of what is needed */
    }
    pthread_mutex_unlock(&memory.mutex);
    if (block) return (char *)block + LINE;

    release(evicted);
    block = obtain(rounded);
    if (block == NULL) { /* the system's own limits are tighter than ours: try again without a cache */
        pthread_mutex_lock(&memory.mutex);
        evicted = evict(0);
        pthread_mutex_unlock(&memory.mutex);
        release(evicted);
        block = obtain(rounded);
    }
    if (block == NULL) {
        pthread_mutex_lock(&memory.mutex);
        memory.allocated -= rounded;
        pthread_mutex_unlock(&memory.mutex);
        return NULL;
    }
    block->bytes = rounded;
    block->class = class;
    return (char *)block + LINE;
}

void adjoint_free(void *payload) {
    if (payload == NULL) return;
    struct block *block = (struct block *)((char *)payload - LINE), *surplus = NULL;
    size_t bytes = block->bytes;

    pthread_mutex_lock(&memory.mutex);
    memory.allocated -= bytes;
    bool small = bytes <= SMALL;
    size_t limit = small && memory.cache_limit > SMALL_CACHE ? SMALL_CACHE : memory.cache_limit;
    size_t *cached = small ? &memory.small_cached : &memory.cached;
    if (bytes > limit || (small && *cached + bytes > limit)) {
        block->next = NULL;
        surplus = block;
    } else {
        if (!small && *cached > limit - bytes) surplus = evict(limit - bytes);
        block->next = memory.free[block->class];
        memory.free[block->class] = block;
        *cached += bytes;
    }
    pthread_mutex_unlock(&memory.mutex);
    release(surplus);
}

static size_t read_counter(const size_t *counter) {
    pthread_mutex_lock(&memory.mutex);
    size_t value = *counter;
    pthread_mutex_unlock(&memory.mutex);
    return value;
}

size_t adjoint_allocated(void) {
    return read_counter(&memory.allocated);
}

size_t adjoint_peak(void) {
    return read_counter(&memory.peak);
}

size_t adjoint_cached(void) {
    pthread_mutex_lock(&memory.mutex);
    size_t bytes = memory.cached + memory.small_cached;
    pthread_mutex_unlock(&memory.mutex);
    return bytes;
}

void adjoint_reset_peak(void) {
    pthread_mutex_lock(&memory.mutex);
    memory.peak = memory.allocated;
    pthread_mutex_unlock(&memory.mutex);
}

void adjoint_count(int64_t bytes) {
    pthread_mutex_lock(&memory.mutex);
    memory.allocated += (size_t)bytes; /* modulo 2^64, so that it may be negative */
    if (memory.allocated > memory.peak) memory.peak = memory.allocated;
    pthread_mutex_unlock(&memory.mutex);
}

void adjoint_set_memory_limit(size_t bytes) {
    pthread_mutex_lock(&memory.mutex);
    memory.memory_limit = bytes > 0 ? bytes : physical_memory();
    pthread_mutex_unlock(&memory.mutex);
}

void adjoint_set_cache_limit(size_t bytes) {
    pthread_mutex_lock(&memory.mutex);
    memory.cache_limit = bytes;
    struct block *surplus = evict(bytes);
    for (int class = 0; class < CLASSES && memory.small_cached > bytes; class++) {
        while (memory.free[class] && memory.free[class]->bytes <= SMALL) {
            struct block *block = memory.free[class];
            memory.free[class] = block->next;
            memory.small_cached -= block->bytes;
            block->next = surplus;
            surplus = block;
        }
    }
    pthread_mutex_unlock(&memory.mutex);
    release(surplus);
}

/* ---- loading and forking ------------------------------------------------------------------------------------ */

static void before_fork(void) {
    pthread_mutex_lock(&memory.mutex);
}

static void after_fork(void) {
    pthread_mutex_unlock(&memory.mutex);
}

/* The child has the thread that called fork() and no other: it begins with an empty pool, to be filled when needed. */
static void after_fork_in_child(void) {
    pthread_mutex_unlock(&memory.mutex);
    pool.started = 0;
    pool.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.done = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    atomic_store(&pool.pending, 0);
    atomic_store(&pool.busy, false);
}

/* Threads sleep in this library and blocks are freed through it until the process ends, so it must stay loaded even if
   the one who opened it closes it. */
__attribute__((constructor)) static void load(void) {
    static const char anchor = 0; /* an address inside this library */
    Dl_info self;
    if (dladdr(&anchor, &self) != 0 && self.dli_fname != NULL)
        dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
