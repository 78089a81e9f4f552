/* follow.h -- overloads derived from another overload, the target, by a row of a table.  proto/gen
 * makes the table from fields of native_functions.yaml (gen/composite_follow.c). */
#ifndef COMPOSITE_FOLLOW_H
#define COMPOSITE_FOLLOW_H

#include <dispatchd/plugin.h>

/* Sources of an argument of the target; `i` is follow_part.i. */
enum {
    FOLLOW_GIVEN,  /* argument i of the call */
    FOLLOW_CLONE,  /* a clone of argument i of the call, because the target writes this argument */
    FOLLOW_DTYPE,  /* the dtype of argument i of the call, an out= argument */
    FOLLOW_DEVICE, /* the device of argument i of the call, an out= argument */
    FOLLOW_LAYOUT, /* the layout strided */
    FOLLOW_NONE,
    FOLLOW_FALSE,
    FOLLOW_INT,     /* the int i; FOLLOW_FALSE, _INT and _EACH are only for follow_each() */
    FOLLOW_EACH,    /* one element of argument i of the call, a list */
    FOLLOW_MADE,    /* a new tensor like return i of a fake run of the call's operator */
    FOLLOW_CHECKED, /* argument i of the call, after a fake run has done the operator's checks */
};

/* Uses of the values that the target returned or wrote. */
enum {
    FOLLOW_RETURN, /* return i of the target becomes the call's next return */
    /* argument i of the target, a tensor made for this call (FOLLOW_CLONE, FOLLOW_MADE), becomes
     * the call's next return */
    FOLLOW_WRITTEN,
    /* The return of the target with this part's index in `results` is copied to argument i of the
     * call, which is resized first. */
    FOLLOW_COPY,
    FOLLOW_CLONES, /* a clone of return i of the target becomes the call's next return */
    FOLLOW_FILL,   /* like FOLLOW_COPY, but argument i has the right shape and is not resized */
};

typedef struct follow_part {
    uint8_t what, i; /* FOLLOW_*; index of an argument or return, or the number of FOLLOW_INT */
} follow_part;

typedef struct follow_row {
    const char *name, *target;         /* full names */
    uint8_t n_args, n_rets, n_results; /* lengths: `args`, the target's returns, `results` */
    const follow_part *args, *results;
} follow_row;

/* Return the row of the call's operator in rows [n], which are sorted by name.
 * NULL: no row has the operator's name, and the call's context has the error. */
const follow_row *follow_find(dp_call *call, const follow_row *rows, size_t n);
/* Run a derived overload: call the target of its row in rows [n]; return or copy its results. */
int follow(dp_call *call, const follow_row *rows, size_t n);
/* Run an operator over lists (_foreach_*): call the target for each element of the lists.  The
 * target writes the element of the first list, or its return is copied to that element
 * (FOLLOW_COPY), or its returns become the list that the call returns. */
int follow_each(dp_call *call, const follow_row *rows, size_t n);

#endif
