/* text.h -- what the files of this folder share: UTF-8, trees, and numbers as text. */
#ifndef DAEMON_JSON_TEXT_H
#define DAEMON_JSON_TEXT_H

#include "json/json.h"
#include <stdatomic.h>

/* -- utf8.c -- */

/* Write code point `c` as UTF-8 to `to`.  Returns the byte behind it. */
char *utf8_put(char *to, unsigned c);

/* -- tree.c -- */

typedef struct block {
    struct block *next;
    atomic_uint refs; /* of the tree; in the first block */
    cJSON nodes[];    /* the first one of the first block is the root */
} block;
/* Allocate a block of `nodes` nodes and `text` bytes behind them, referenced once; NULL: no
 * memory. */
block *json_block_new(size_t nodes, size_t text);

/* -- members.c -- */

/* DP_EVALUE: two of the n members of `object` have one name. */
int json_name_repeated(const cJSON *object, size_t n, dp_error *err);

/* -- print.c -- */

enum { DIGITS_MAX = 20, ELEMENT_TEXT_MAX = 96 };

/* Write the decimal digits of x so that they end at `end`.  Returns where they begin. */
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

/* Print into `out`, which has room for ELEMENT_TEXT_MAX characters.  Return how many were
 * written. */
size_t print_float(char *out, double d, dp_dtype dtype);
size_t print_element(char out[ELEMENT_TEXT_MAX], dp_dtype dtype, const void *p);

#endif
