/* loops/finish.h -- what outputs hold of folded elements (fold.h).  Included for each RD_NAME after
 *
 *     RD_R, RD_O           types of what fold.h has made, and of a result, by the ends of their
 *                          names
 *     NAME_finish_(a, s)   the result */
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
