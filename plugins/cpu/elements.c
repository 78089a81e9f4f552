/* elements.c -- elements moved by their size. */
#include "elements.h"

void copy_elements(size_t size, int64_t n, char *dst, int64_t to, const char *src, int64_t from)
{
    if (to == (int64_t)size && from == (int64_t)size && n > 0) {
        memcpy(dst, src, (size_t)n * size);
        return;
    }
    switch (size) {
#define EACH(bytes, type)                                                                          \
    case bytes:                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                            \
            *(type *)(dst + i * to) = *(const type *)(src + i * from);                             \
        break;
        ELEMENT_SIZES(EACH)
#undef EACH
    }
}
