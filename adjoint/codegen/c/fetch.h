/* Memory that is read soon. */

/* Has the processor fetch `bytes` bytes from `start` on into its cache. They may lie outside of the array: nothing is read
   where there is no memory. */
static inline void adjoint_fetch(const void *start, int64_t bytes) {
#if defined(__GNUC__)
    const uintptr_t from = (uintptr_t)start;
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch((const void *)(from + (uintptr_t)i));
#else
    (void)start, (void)bytes;
#endif
}
