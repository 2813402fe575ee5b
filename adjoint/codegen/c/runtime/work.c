/* Work: a kernel, or a batch, cut into parts that threads compute. */

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
