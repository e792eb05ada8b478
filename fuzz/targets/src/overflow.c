/* A control that AddressSanitizer must detect: writes one byte after the end of a heap block. */
#include <stdlib.h>

void airlock_control_overflow(size_t length) {
    volatile char *block = malloc(length);
    if (block != NULL) {
        block[length] = 1;
    }
    free((void *)block);
}
