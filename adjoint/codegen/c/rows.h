/* Arrays of which one row is written. */

#ifndef ADJOINT_ROWS_H
#define ADJOINT_ROWS_H

#include <stdint.h>
#include <string.h>

/* Make `to` equal to `from`, both of `bytes` bytes; nothing is done if they are the same memory.
   memmove: where they are, gcc warns of a memcpy that it then leaves out. */
static inline void adjoint_keep(const void *from, void *to, int64_t bytes) {
    if (from != to) memmove(to, from, (size_t)bytes);
}

#endif
