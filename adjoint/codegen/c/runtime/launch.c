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
