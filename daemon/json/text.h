/* text.h -- declarations that the files of this folder share: UTF-8, trees, and numbers as text. */
#ifndef DAEMON_JSON_TEXT_H
#define DAEMON_JSON_TEXT_H

#include "json/json.h"
#include <stdatomic.h>

/* -- utf8.c -- */

/* Write code point `c` as UTF-8 to `to`.  Returns the address behind the last byte written. */
char *utf8_put(char *to, unsigned c);

/* -- tree.c -- */

typedef struct block {
    struct block *next;
    atomic_uint refs; /* reference count of the tree; used in the first block only */
    cJSON nodes[];    /* the first node of the first block is the root */
} block;
/* Allocate a block of `nodes` nodes and `text` further bytes, with a reference count of 1.  NULL:
 * out of memory. */
block *json_block_new(size_t nodes, size_t text);

/* -- members.c -- */

/* Check that the names of the `n` members of `object` differ.  DP_EVALUE: two names are equal.
 * DP_ERESOURCE: out of memory. */
int json_name_repeated(const cJSON *object, size_t n, dp_error *err);
/* Is `name` (NULL: none) that of member "id" of a message, or of a request in a batch?  `open`
 * [depth]: the containers around it, outermost first. */
bool json_is_request_id(cJSON *const *open, unsigned depth, const char *name);

/* -- print.c -- */

/* most digits of a uint64_t; most bytes of the text of a number or tensor element */
enum { DIGITS_MAX = 20, ELEMENT_TEXT_MAX = 96 };

/* Write the decimal digits of `x` so that they end at `end`.  Returns the address of the first
 * digit. */
static inline char *digits_of(uint64_t x, char *end)
{
    do {
        *--end = (char)('0' + x % 10);
        x /= 10;
    } while (x > 0);
    return end;
}

static inline bool is_exact_int(int64_t i)
{
    return i > -JSON_EXACT_INT && i < JSON_EXACT_INT;
}

/* Print into `out`, which must have ELEMENT_TEXT_MAX bytes: `d`, a value of the floating `dtype`,
 * or the tensor element at `p`.  Returns the number of characters. */
size_t print_float(char *out, double d, dp_dtype dtype);
size_t print_element(char out[ELEMENT_TEXT_MAX], dp_dtype dtype, const void *p);

#endif
