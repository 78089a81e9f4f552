/* forms.h -- overloads that follow from others: what the generated kernels of gen/composite_forms.c
 * call.  Each is given the name of the operator that it follows from, whose arguments are the
 * call's but for what is said. */
#ifndef COMPOSITE_FORMS_H
#define COMPOSITE_FORMS_H

#include <dispatchd/plugin.h>

/* The result's dtype: that of self, bool, that of its real part, that of complex numbers of it. */
enum { FORM_SAME, FORM_BOOL, FORM_REAL, FORM_COMPLEX };

/* `target` takes tensors for the Scalars at the bits of `scalars`: they become wrapped numbers. */
int form_wrapped(dp_call *call, const char *target, uint32_t scalars);
/* `target` is the overload with out=, which comes last: given a new tensor, or for an in-place
 * overload the call's first argument. */
int form_by_out(dp_call *call, const char *target, int result);
/* What is written must have: a dtype to which the result can be cast, or the result's. */
enum { FORM_CAST, FORM_EXACT };
/* The call has out= in addition, and last, one for each of what `target` returns: they are resized
 * to that, and it is copied. */
int form_out_of(dp_call *call, const char *target, int dtype);
/* The call is in-place: what `target` returns is copied to its first argument. */
int form_in_place_of(dp_call *call, const char *target, int dtype);
/* The same operator by another name. */
int form_alias(dp_call *call, const char *target);

#endif
