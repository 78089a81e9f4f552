/* keys.c -- the key set of a call: the keys of its arguments, with the state applied. */
#include "keys.h"
#include "enter.h"

dp_keyset dpi_carried_keys(const dp_value *v)
{
    dp_keyset ks = {0, 0};

    if (v->tag == DP_TAG_GENERATOR)
        return *(const dp_keyset *)(const void *)v->u.g; /* first member, as in a tensor */
    for (uint32_t i = 0; i < v->len; i++)
        if (v->u.tensors[i] != NULL)
            ks = dp_keyset_or(ks, dpi_keys_of(v->u.tensors[i]));
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
