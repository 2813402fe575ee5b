/* Memory: aligned blocks, kept for the next request of their size.

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

/* What is followed: blocks taken and given back, until `adjoint_changes` asks for them. Guarded by the same lock. */
static _Atomic bool follows;
static struct {
    struct adjoint_change *change;
    size_t count, room;
} followed;

/* Notes that a block was taken, or given back if `bytes` is negative. The caller holds the lock. */
static void note_change(void *payload, int64_t bytes) {
    if (!atomic_load_explicit(&follows, memory_order_relaxed)) return;
    if (followed.count == followed.room) {
        size_t room = followed.room > 0 ? 2 * followed.room : 4096;
        struct adjoint_change *larger = realloc(followed.change, room * sizeof *larger);
        if (larger == NULL) return; /* the report lacks it; the program goes on */
        followed.change = larger;
        followed.room = room;
    }
    followed.change[followed.count++] = (struct adjoint_change){(int64_t)(intptr_t)payload, bytes, nanoseconds()};
}

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
        note_change((char *)block + LINE, (int64_t)rounded);
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
    if (__builtin_expect(atomic_load_explicit(&follows, memory_order_relaxed), false)) {
        pthread_mutex_lock(&memory.mutex);
        note_change((char *)block + LINE, (int64_t)rounded);
        pthread_mutex_unlock(&memory.mutex);
    }
    return (char *)block + LINE;
}

void adjoint_free(void *payload) {
    if (payload == NULL) return;
    struct block *block = (struct block *)((char *)payload - LINE), *surplus = NULL;
    size_t bytes = block->bytes;

    pthread_mutex_lock(&memory.mutex);
    memory.allocated -= bytes;
    note_change(payload, -(int64_t)bytes);
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

void adjoint_follow(int on) {
    pthread_mutex_lock(&memory.mutex);
    atomic_store(&follows, on != 0);
    free(followed.change);
    followed.change = NULL;
    followed.count = followed.room = 0;
    pthread_mutex_unlock(&memory.mutex);
}

int64_t adjoint_changes(struct adjoint_change *into, int64_t room) {
    pthread_mutex_lock(&memory.mutex);
    size_t count = followed.count < (size_t)room ? followed.count : (size_t)room;
    if (count > 0) {
        memcpy(into, followed.change, count * sizeof *into);
        memmove(followed.change, followed.change + count, (followed.count - count) * sizeof *into);
        followed.count -= count;
    }
    pthread_mutex_unlock(&memory.mutex);
    return (int64_t)count;
}
