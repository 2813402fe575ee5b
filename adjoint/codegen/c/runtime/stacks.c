/* Stacks: what the rounds of a loop leave for its gradient.

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
