/* What others call. cffi reads this file too: after a change `make docs` writes `declarations.py` anew. */

/* Computes units begin..end. `operand` holds inputs, then outputs, then scratch; `size` the run-time integers, of which
   the first two belong to the launcher: size[0] units in all, size[1] units per thread below which splitting does not
   pay. The kernel's own sizes begin at size[2]. Returns 0, or a status that says what went wrong. */
typedef int (*adjoint_kernel)(void *const *operand, const int64_t *size, int64_t begin, int64_t end);

/* Floats in an operand: `count` numbers of `bytes` bytes each, and the bits of infinity in that format, from which those of
   NaN go on upwards. */
struct adjoint_floats {
    int64_t operand, count, bytes;
    uint64_t infinity;
};

/* The results of a launch that are floats. */
struct adjoint_results {
    int64_t count;
    struct adjoint_floats floats[];
};

/* A kernel and the sizes it is started with, in one piece: to who launches it, one argument. `results` is NULL until the
   launch is checked for the first time (see `adjoint_check`). */
struct adjoint_bound {
    adjoint_kernel kernel;
    const struct adjoint_results *results;
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

/* Checks of results: which floats a launch must not give. In a thread 0 means what all threads do. */
enum { ADJOINT_AS_ALL = 0, ADJOINT_NO_NAN = 1, ADJOINT_FINITE = 2, ADJOINT_ANYTHING = 3 };

/* Sets what is called for checked launches. `describe` sets `results` of a bound kernel that is launched for the first time;
   `found` is called after a launch with a number that it must not give, as an observer with 0 nanoseconds. NULL: nothing is
   checked from now on, as at first. */
typedef void (*adjoint_describer)(struct adjoint_bound *bound);
void adjoint_check(adjoint_observer found, adjoint_describer describe);

/* Says what is checked: in all threads; in this one. */
void adjoint_check_all(int what);
void adjoint_check_thread(int what);

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

/* A block that was taken, or, if `bytes` is negative, given back; its address and when that was. */
struct adjoint_change {
    int64_t block, bytes, nanoseconds;
};

/* Begins to follow which blocks are taken and given back (1), or ends it (0, as at first). `adjoint_changes` moves the oldest
   changes into an array that has room for so many, and returns how many it has moved. */
void adjoint_follow(int on);
int64_t adjoint_changes(struct adjoint_change *into, int64_t room);

/* Bounds, in bytes. Memory: what blocks in use may sum up to (0: all of the physical memory, the initial value).
   Cache: what may be kept for reuse (256 MiB at first); shrinking it gives memory back at once. */
void adjoint_set_memory_limit(size_t bytes);
void adjoint_set_cache_limit(size_t bytes);
