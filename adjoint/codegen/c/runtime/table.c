/* Tables: launches one after the other, with branches and loops between them.

   The steps of a loop are followed by a branch back to its test. A carried value has a block of its own, and so has the
   value that the round computes for the next: at the end of a round the two change places, and nothing is copied. */

/* Runs a launch, or a batch, of which an observer is to see each launch with its time; checks alone let it run as it is. */
static int launch_step_observed(const struct adjoint_table *table, const struct adjoint_step *step, void *const *block, void **operand) {
    bool together = step->batch > 1 && atomic_load(&observer) == NULL;
    int status = together ? launch_batch(step, step->batch, table->widest, block) : 0;
    for (int64_t k = 0; k < step->batch && status == 0; k++) {
        place_operands(&step[k], block, operand);
        int64_t index = step + k - table->step;
        status = together ? check(table, index, step[k].bound, operand) : launch_observed(table, index, step[k].bound, operand);
    }
    return status;
}

/* Runs a launch, or the batch that begins with it. */
static inline int launch_step(const struct adjoint_table *table, const struct adjoint_step *step, void *const *block, void **operand) {
    if (is_observed()) return launch_step_observed(table, step, block, operand);
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
