/* loops/finish.h -- template of the conversion of partial results (fold.h) to elements of an
 * output.  It is included once for each RD_NAME, the prefix of the names of its functions, after
 * the definition of
 *
 *     RD_R, RD_O           suffixes of the types of a partial result and of an output's element
 *     NAME_finish_(a, s)   the output's element for the partial result `a`; s is the rd_state */
#define RD_(part) DP_ISA_PASTE(RD_NAME, part)

static void RD_(finish)(char **data, const int64_t *strides, const char *acc, int64_t n, void *user)
{
    const rd_state *s = user;
    const DP_ISA_PASTE(pw_mem, RD_R) *a = (const DP_ISA_PASTE(pw_mem, RD_R) *)acc;
    DP_ISA_PASTE(pw_mem, RD_O) out[RD_STORED];

    for (int64_t j = 0; j < n; j += RD_STORED) {
        int64_t m = rd_least(n - j, RD_STORED);
        for (int64_t i = 0; i < m; i++)
            out[i] = RD_(finish_)(a[j + i], s);
        RD_STORE(0, out, j, m);
    }
}

#undef RD_
#undef RD_NAME
#undef RD_R
#undef RD_O
