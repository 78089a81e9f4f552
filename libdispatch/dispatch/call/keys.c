/* keys.c -- the key set of a call: the keys of its arguments, with the state applied. */
#include "keys.h"
#include "enter.h"

dp_keyset dpi_carried_keys(const dp_value *v)
{
    dp_keyset ks = {0, 0};

    if (v->tag == DP_TAG_GENERATOR)
        return *(const dp_keyset *)(const void *)v->u.g; /* the first member is the key set */
    for (uint32_t i = 0; i < v->len; i++)
        if (v->u.tensors[i] != NULL)
            ks = dp_keyset_or(ks, dpi_keys_of(v->u.tensors[i]));
    return ks;
}

static bool grad_is_likely(const dp_value *v)
{
    if (v->tag == DP_TAG_TENSOR)
        return (dpi_keys_of(v->u.t).functionality & DPI_GRAD_BIT) && dpi_grad_is_likely(v->u.t);
    for (uint32_t i = 0; v->tag == DP_TAG_TENSORS && i < v->len; i++) {
        const dp_tensor *t = v->u.tensors[i];
        if (t != NULL && (dpi_keys_of(t).functionality & DPI_GRAD_BIT) && dpi_grad_is_likely(t))
            return true;
    }
    return false;
}

/* Cold: most calls have no argument with DPI_GRAD_BIT and do not need this code. */
__attribute__((cold)) dp_keyset dpi_settle_grad(dp_keyset ks, const dp_value *args, size_t n)
{
    size_t i = 0;

    while (i < n && !grad_is_likely(&args[i]))
        i++;
    if (i == n)
        ks.functionality &= ~DPI_GRAD_BIT;
    return ks;
}

dp_keyset dpi_argument_keys(const dpi_entry *e, const dp_value *args)
{
    dp_keyset ks = marked_keys(e, args);

    ks.backend &= ~DPI_WRAPPER_BIT;
    return ks;
}

dp_keyset dpi_call_keys(const dpi_entry *e, dp_keyset arguments, dp_keyset include,
                        dp_keyset exclude)
{
    dp_keyset ks = with_state(arguments, include, exclude);

    resolve(e, &ks);
    return ks;
}
