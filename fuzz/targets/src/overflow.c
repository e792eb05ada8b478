/* A control: what AddressSanitizer must catch. Writes one byte behind a block of the heap. */
#include <stdlib.h>

void airlock_control_overflow(size_t length) {
    volatile char *block = malloc(length);
    if (block != NULL) {
        block[length] = 1;
    }
    free((void *)block);
}
