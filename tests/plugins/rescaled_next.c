/* rescaled_next.c -- rescaled.c with another schema. */
#define RESCALED_NEXT
#include "rescaled.c"
