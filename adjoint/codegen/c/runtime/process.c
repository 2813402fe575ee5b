/* Forking and loading. */

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
