/* follow.h -- overloads that follow from another one by a row of a table, which proto/gen makes of
 * the fields of native_functions.yaml (gen/composite_follow.c). */
#ifndef COMPOSITE_FOLLOW_H
#define COMPOSITE_FOLLOW_H

#include <dispatchd/plugin.h>

/* What an argument of the target is. */
enum {
    FOLLOW_GIVEN, /* argument i of the call */
    FOLLOW_CLONE, /* a clone of that: the target writes it */
    FOLLOW_DTYPE, /* that of the call's argument i, an out= argument */
    FOLLOW_DEVICE,
    FOLLOW_LAYOUT, /* strided */
    FOLLOW_NONE,
    FOLLOW_FALSE,
    FOLLOW_INT,     /* the number i */
    FOLLOW_EACH,    /* each element of the call's argument i: follow_each() alone */
    FOLLOW_MADE,    /* output i, made as the call's operator makes it without memory */
    FOLLOW_CHECKED, /* argument i of the call, when it has done all its checks so */
};

/* What becomes of what the target returned or wrote. */
enum {
    FOLLOW_RETURN, /* return i is the next one of the call */
    /* argument i of the target, that was made for it, is the next return of the call */
    FOLLOW_WRITTEN,
    FOLLOW_COPY,   /* return i, in turn, is copied to the call's argument i, which is resized */
    FOLLOW_CLONES, /* a clone of return i is the next one of the call */
    FOLLOW_FILL,   /* the same as COPY, but the argument has the shape */
};

typedef struct follow_part {
    uint8_t what, i;
} follow_part;

typedef struct follow_row {
    const char *name, *target;         /* full names */
    uint8_t n_args, n_rets, n_results; /* of the target, of it, of `results` */
    const follow_part *args, *results;
} follow_row;

/* The row of the call's operator in rows [n], sorted by name; NULL and an error. */
const follow_row *follow_find(dp_call *call, const follow_row *rows, size_t n);
/* The kernel of operators that have a row. */
int follow(dp_call *call, const follow_row *rows, size_t n);
/* That of operators over lists, which call the target for each element.  Each element of the first
 * list is written, or gets a copy of what the target returned (FOLLOW_COPY), or what that is goes
 * in a list. */
int follow_each(dp_call *call, const follow_row *rows, size_t n);

#endif
