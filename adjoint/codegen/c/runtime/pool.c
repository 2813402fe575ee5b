/* The pool of threads.

   Each worker owns one word, `state`, which says all that there is to say between it and the launcher:

        IDLE --offer--> OFFERED --take--> TAKEN --done--> IDLE           (launcher, worker, worker)
        IDLE --sleep--> ASLEEP --offer--> OFFERED                        (worker; the launcher also signals)
        OFFERED --retract--> IDLE                                        (launcher)

   The ranges are cut before anything starts, one per thread. A launcher that has finished its own range takes back
   those whose worker has not yet woken up and computes them itself: a launch never waits for a sleeper. */

enum { MAX_THREADS = 256, STACK = 8 << 20 /* bytes; a kernel may hold a packed panel on it */ };

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
