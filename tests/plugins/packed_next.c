/* packed_next.c -- packed.c whose objects have another arrangement of data: it adopts none of the
 * old ones. */
#define PACKED_VERSION 2
#include "packed.c"
