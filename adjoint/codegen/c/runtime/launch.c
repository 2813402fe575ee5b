/* Launches: all units of one kernel, or of a batch of steps, on as many threads as pay. */

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

static _Atomic(adjoint_observer) observer, finder;
static _Atomic(adjoint_describer) describer;
static _Atomic bool observed; /* whether a launch has to look at any of them: the one test where nothing observes */
static _Atomic int checked_in_all;
static _Thread_local int checked_in_thread;

static void note_observers(void) {
    atomic_store(&observed, atomic_load(&observer) != NULL || atomic_load(&finder) != NULL);
}

void adjoint_observe(adjoint_observer wanted) {
    atomic_store(&observer, wanted);
    note_observers();
}

void adjoint_check(adjoint_observer found, adjoint_describer describe) {
    atomic_store(&describer, describe);
    atomic_store(&finder, found);
    note_observers();
}

void adjoint_check_all(int what) {
    atomic_store(&checked_in_all, what);
}

void adjoint_check_thread(int what) {
    checked_in_thread = what;
}

/* The smallest bits, without the sign, that a number must not have: those of infinity, or the next ones. */
static inline uint64_t limit_of(const struct adjoint_floats *floats, int what) {
    return floats->infinity + (what == ADJOINT_NO_NAN);
}

/* Whether the numbers begin..end of TYPE have bits, without the sign, that are not below the limit. The difference to the
   largest bits allowed then has the sign bit, so that no comparison is needed; a loop of constant length becomes vectors. */
#define DEFINE_REACHES(TYPE)                                                                                       \
    static bool reaches_##TYPE(const TYPE *bits, int64_t begin, int64_t end, uint64_t limit) {                     \
        const TYPE magnitude = (TYPE)((TYPE)~(TYPE)0 >> 1), allowed = (TYPE)(limit - 1);                           \
        TYPE above = 0;                                                                                            \
        for (; end - begin >= BLOCK && above <= magnitude; begin += BLOCK)                                         \
            for (int64_t i = 0; i < BLOCK; i++) above |= (TYPE)(allowed - (bits[begin + i] & magnitude));          \
        for (; begin < end; begin++) above |= (TYPE)(allowed - (bits[begin] & magnitude));                         \
        return above > magnitude;                                                                                  \
    }
enum { BLOCK = 1024, GRAIN = 65536 /* numbers: between two looks at what was found; worth a thread */ };
DEFINE_REACHES(uint16_t)
DEFINE_REACHES(uint32_t)
DEFINE_REACHES(uint64_t)

/* A kernel: operand 0 are the numbers, size[2] the bytes of one, size[3] the limit. Returns 1 if one reaches the limit. */
static int search(void *const *operand, const int64_t *size, int64_t begin, int64_t end) {
    uint64_t limit = (uint64_t)size[3];
    switch (size[2]) {
    case 2: return reaches_uint16_t(operand[0], begin, end, limit);
    case 4: return reaches_uint32_t(operand[0], begin, end, limit);
    default: return reaches_uint64_t(operand[0], begin, end, limit);
    }
}

/* What is checked in this thread now: ADJOINT_NO_NAN or ADJOINT_FINITE; something else: nothing. */
static inline int checked_here(void) {
    int what = checked_in_thread != ADJOINT_AS_ALL ? checked_in_thread : atomic_load_explicit(&checked_in_all, memory_order_relaxed);
    return atomic_load(&finder) != NULL ? what : ADJOINT_ANYTHING;
}

/* Looks for numbers in the results of a launch that it must not give. */
static int check(const struct adjoint_table *table, int64_t step, const struct adjoint_bound *bound, void *const *operand) {
    int what = checked_here();
    if (what != ADJOINT_NO_NAN && what != ADJOINT_FINITE) return 0;
    adjoint_observer found = atomic_load(&finder);
    adjoint_describer describe = atomic_load(&describer);
    if (bound->results == NULL && describe) describe((struct adjoint_bound *)bound);
    if (bound->results == NULL || !found) return 0;
    for (int64_t i = 0; i < bound->results->count; i++) {
        const struct adjoint_floats *floats = &bound->results->floats[i];
        void *numbers = operand[floats->operand];
        int64_t size[] = {floats->count, GRAIN, floats->bytes, (int64_t)limit_of(floats, what)};
        if (launch(search, size, &numbers) != 0) return found(table, step, bound, operand, 0);
    }
    return 0;
}

static int launch_observed(const struct adjoint_table *table, int64_t step, const struct adjoint_bound *bound, void *const *operand) {
    adjoint_observer observes = atomic_load(&observer);
    int64_t begin = observes ? nanoseconds() : 0;
    int status = launch(bound->kernel, bound->size, operand);
    if (status == 0 && observes) status = observes(table, step, bound, operand, nanoseconds() - begin);
    return status == 0 ? check(table, step, bound, operand) : status;
}

static inline bool is_observed(void) {
    return __builtin_expect(atomic_load_explicit(&observed, memory_order_relaxed), false);
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
