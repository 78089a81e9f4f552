/* loops/optim.h -- template of the loops of optim.h for elements of type T; E is the suffix of T.
 * levels/optim.c includes this header once per type.
 *
 * Each line does the operations of one line of torch.optim 1.13.1's _single_tensor_*, with the
 * roundings of PyTorch's CPU kernels: x.add(y, alpha=a) is fma(y, a, x), x.addcmul(y, z, value=a)
 * is fma(a * y, z, x), and x.addcdiv(y, z, value=a) is x + (a * y) / z. */
#define FN(name)     DP_ISA_PASTE(name, E)
#define FMA(a, b, c) FN(fused)(a, b, c)
#define EACH(n)      for (int64_t i = 0; i < (n); i++)

/* Return the gradients after scaling, maximize and weight decay: the given ones, or `scratch`
 * [BLOCK].  With o->store_unscaled the given ones are divided by the scale, too. */
static inline const T *FN(gradients)(const optim_options *o, int64_t n, void *const *x,
                                     T *restrict scratch)
{
    T *restrict g = x[OPTIM_GRAD];
    const T *restrict p = x[OPTIM_PARAM];
    T scale = (T)o->grad_scale, sign = o->maximize ? -1 : 1, decay = (T)o->weight_decay;
    bool decays = o->weight_decay != 0 && !o->decoupled;

    if (o->store_unscaled)
        EACH(n) g[i] /= scale;
    else if (o->grad_scale == 1 && !o->maximize && !decays)
        return g;
    scale = o->store_unscaled ? 1 : scale;
    if (decays)
        EACH(n) scratch[i] = FMA(p[i], decay, sign * (g[i] / scale));
    else
        EACH(n) scratch[i] = sign * (g[i] / scale);
    return scratch;
}

static void FN(sgd)(const optim_options *o, optim_own own, int64_t n, void *const *x)
{
    T scratch[BLOCK], lr = (T)-o->lr, momentum = (T)o->momentum, rest = (T)(1 - o->dampening);
    T *restrict p = x[OPTIM_PARAM], *restrict b = x[OPTIM_STATE];
    const T *restrict d = FN(gradients)(o, n, x, scratch);

    (void)own;
    if (o->momentum == 0) {
        EACH(n) p[i] = FMA(d[i], lr, p[i]);
        return;
    }
    if (o->first)
        EACH(n) b[i] = d[i];
    else
        EACH(n) b[i] = FMA(d[i], rest, b[i] * momentum);
    if (o->nesterov)
        EACH(n) p[i] = FMA(FMA(b[i], momentum, d[i]), lr, p[i]);
    else
        EACH(n) p[i] = FMA(b[i], lr, p[i]);
}

static void FN(adam)(const optim_options *o, optim_own own, int64_t n, void *const *x)
{
    T scratch[BLOCK], beta1 = (T)o->beta1, rest1 = (T)(1 - o->beta1), beta2 = (T)o->beta2;
    T rest2 = (T)(1 - o->beta2), eps = (T)o->eps, size = (T)-own.size, root = (T)own.root;
    T *restrict p = x[OPTIM_PARAM], *restrict m = x[OPTIM_STATE], *restrict v = x[OPTIM_STATE + 1];
    T *restrict most = x[OPTIM_STATE + 2], decay = (T)(1 - o->lr * o->weight_decay);
    const T *restrict g = FN(gradients)(o, n, x, scratch);

    if (o->decoupled)
        EACH(n) p[i] *= decay;
    if (!o->amsgrad) {
        EACH(n)
        {
            m[i] = FMA(g[i], rest1, m[i] * beta1);
            v[i] = FMA(rest2 * g[i], g[i], v[i] * beta2);
            p[i] += size * m[i] / (FN(root)(v[i]) / root + eps);
        }
        return;
    }
    EACH(n)
    {
        m[i] = FMA(g[i], rest1, m[i] * beta1);
        v[i] = FMA(rest2 * g[i], g[i], v[i] * beta2);
        /* torch.maximum: NaN if either is NaN */
        most[i] = most[i] > v[i] || most[i] != most[i] ? most[i] : v[i];
        p[i] += size * m[i] / (FN(root)(most[i]) / root + eps);
    }
}

static void FN(rmsprop)(const optim_options *o, optim_own own, int64_t n, void *const *x)
{
    T scratch[BLOCK], average[BLOCK], alpha = (T)o->alpha, rest = (T)(1 - o->alpha);
    T eps = (T)o->eps, lr = (T)-o->lr, momentum = (T)o->momentum;
    T *restrict p = x[OPTIM_PARAM], *restrict s = x[OPTIM_STATE], *restrict a = x[OPTIM_STATE + 1];
    T *restrict b = x[OPTIM_STATE + 1 + o->centered];
    const T *restrict g = FN(gradients)(o, n, x, scratch);

    (void)own;
    EACH(n) s[i] = FMA(rest * g[i], g[i], s[i] * alpha);
    if (o->centered)
        EACH(n)
        {
            a[i] = FMA(g[i], rest, a[i] * alpha);
            average[i] = FN(root)(FMA(-a[i], a[i], s[i])) + eps;
        }
    else
        EACH(n) average[i] = FN(root)(s[i]) + eps;
    if (o->momentum > 0)
        EACH(n)
        {
            b[i] = b[i] * momentum + g[i] / average[i];
            p[i] = FMA(b[i], lr, p[i]);
        }
    else
        EACH(n) p[i] += lr * g[i] / average[i];
}

static void FN(adagrad)(const optim_options *o, optim_own own, int64_t n, void *const *x)
{
    T scratch[BLOCK], eps = (T)o->eps, lr = (T)-own.size;
    T *restrict p = x[OPTIM_PARAM], *restrict s = x[OPTIM_STATE];
    const T *restrict g = FN(gradients)(o, n, x, scratch);

    EACH(n)
    {
        s[i] = FMA(g[i], g[i], s[i]);
        p[i] += lr * g[i] / (FN(root)(s[i]) + eps);
    }
}

/* "Symbolic Discovery of Optimization Algorithms", algorithm 2, with the operations of sgd and
 * adamw for its lines. */
static void FN(lion)(const optim_options *o, optim_own own, int64_t n, void *const *x)
{
    T scratch[BLOCK], beta1 = (T)o->beta1, rest1 = (T)(1 - o->beta1), beta2 = (T)o->beta2;
    T rest2 = (T)(1 - o->beta2), lr = (T)-o->lr, decay = (T)(1 - o->lr * o->weight_decay);
    T *restrict p = x[OPTIM_PARAM], *restrict m = x[OPTIM_STATE];
    const T *restrict g = FN(gradients)(o, n, x, scratch);

    (void)own;
    EACH(n)
    {
        T update = FMA(g[i], rest1, m[i] * beta1);
        T sign = (T)((update > 0) - (update < 0));
        p[i] = FMA(sign, lr, p[i] * decay);
        m[i] = FMA(g[i], rest2, m[i] * beta2);
    }
}

#undef FN
#undef FMA
#undef EACH
#undef T
#undef E
