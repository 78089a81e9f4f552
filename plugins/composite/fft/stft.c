/* stft.c -- short-time Fourier transforms: stft, istft (aten/src/ATen/native/SpectralOps.cpp). */
#include "core/chain.h"

/* arguments of stft and istft */
typedef struct stft {
    chain c;
    int64_t n_fft, hop, win_length;
    dp_tensor *window; /* NULL: no window */
    int64_t norm;
} stft;

enum { NORM_NONE, NORM_ROOT, NORM_ALL }; /* at::native's fft_norm_mode */

static bool is_complex(const dp_tensor *t)
{
    if (t == NULL)
        return false;
    DP_VIEW(x, t);
    return dp_dtype_is_complex(x.dtype);
}

/* Return the size of dimension `dim`; a negative dim counts from the end. */
static int64_t size_at(const dp_tensor *t, int dim)
{
    DP_VIEW(x, t);
    return x.sizes[dim < 0 ? dim + x.ndim : dim];
}

static stft stft_of(dp_ctx *ctx, int64_t n_fft, const int64_t *hop, const int64_t *win_length,
                    dp_tensor *window)
{
    return (stft){{.ctx = ctx}, n_fft,    hop ? *hop : n_fft >> 2, win_length ? *win_length : n_fft,
                  window,       NORM_NONE};
}

static void check_window(stft *s)
{
    chain *c = &s->c;

    if (s->window == NULL || c->rc < 0)
        return;
    DP_VIEW(w, s->window);
    if (w.ndim != 1 || w.sizes[0] != s->win_length)
        chain_fail(c, DP_ERUNTIME,
                   "expected a 1D window tensor of size equal to win_length=%" PRId64
                   ", but got one of %d dimensions and %" PRId64 " elements",
                   s->win_length, w.ndim, w.numel);
}

/* Set the window to n_fft elements, with zeros on both sides. */
static void pad_window(stft *s, dp_tensor *like)
{
    chain *c = &s->c;
    int64_t left = (s->n_fft - s->win_length) / 2, pad[2] = {left, s->n_fft - s->win_length - left};

    if (c->rc < 0)
        return;
    DP_VIEW(x, like);
    int64_t dtype = x.dtype, device = x.device;
    if (s->window == NULL)
        s->window = CHAIN(c, "aten::ones", "lioioioiob>T", &s->win_length, (size_t)1, &dtype,
                          (int64_t *)NULL, &device, (bool *)NULL);
    s->window =
        CHAIN(c, "aten::constant_pad_nd", "Tlis>T", s->window, pad, (size_t)2, dp_double(0));
}

/* -- stft -- */

/* Return self [batch, length], padded by n_fft / 2 elements on each side. */
static dp_tensor *centred(stft *s, dp_tensor *self, dp_str mode)
{
    chain *c = &s->c;
    int64_t pad[2] = {s->n_fft / 2, s->n_fft / 2};
    dp_tensor *t = CHAIN(c, "aten::unsqueeze", "Ti>T", self, (int64_t)0);

    t = CHAIN(c, "aten::pad", "TliSof>T", t, pad, (size_t)2, mode, (double *)NULL);
    return CHAIN(c, "aten::squeeze.dim", "Ti>T", t, (int64_t)0);
}

static void check_lengths(stft *s, int64_t length)
{
    chain *c = &s->c;

    if (c->rc == 0 && (s->n_fft <= 0 || s->n_fft > length))
        chain_fail(c, DP_ERUNTIME, "expected 0 < n_fft < %" PRId64 ", but got n_fft=%" PRId64,
                   length, s->n_fft);
    if (c->rc == 0 && s->hop <= 0)
        chain_fail(c, DP_ERUNTIME, "expected hop_length > 0, but got hop_length=%" PRId64, s->hop);
    if (c->rc == 0 && (s->win_length <= 0 || s->win_length > s->n_fft))
        chain_fail(c, DP_ERUNTIME, "expected 0 < win_length <= n_fft, but got win_length=%" PRId64,
                   s->win_length);
    check_window(s);
}

/* Return the transforms of the frames of input [batch, length], as [batch, frequencies, frames]. */
static dp_tensor *frames(stft *s, dp_tensor *input, const bool *onesided)
{
    static const int64_t last = 2;
    chain *c = &s->c;
    dp_tensor *t = CHAIN(c, "aten::unfold", "Tiii>T", input, (int64_t)1, s->n_fft, s->hop);

    if (s->window != NULL)
        t = chain_TT(c, "aten::mul.Tensor", t, s->window);
    if (c->rc < 0)
        return NULL;
    bool half = onesided ? *onesided : !is_complex(t);
    if (is_complex(t) && half)
        chain_fail(c, DP_ERUNTIME, "Cannot have onesided output if window or input is complex");
    if (is_complex(t))
        t = CHAIN(c, "aten::_fft_c2c", "Tliib>T", t, &last, (size_t)1, s->norm, (int)true);
    else
        t = CHAIN(c, "aten::_fft_r2c", "Tliib>T", t, &last, (size_t)1, s->norm, (int)half);
    return CHAIN(c, "aten::transpose.int", "Tii>T", t, (int64_t)1, (int64_t)2);
}

static int check_signal(dp_ctx *ctx, dp_tensor *self)
{
    DP_VIEW(x, self);

    if (!dp_dtype_is_floating(x.dtype) && !dp_dtype_is_complex(x.dtype))
        return dp_fail(ctx, DP_ERUNTIME,
                       "stft: expected a tensor of floating point or complex values, not of %s",
                       dp_dtype_name(x.dtype));
    if (x.ndim < 1 || x.ndim > 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "stft: expected a 1D or 2D tensor, not one of %d dimensions", x.ndim);
    return 0;
}

/* Run stft; mode.s NULL: the input is not padded. */
static int run_stft(stft s, dp_tensor *self, dp_str mode, const bool *onesided,
                    const bool *return_complex, dp_tensor **out)
{
    chain *c = &s.c;
    DP_VIEW(x, self);
    dp_tensor *t = self;

    if (return_complex == NULL && !is_complex(self) && !is_complex(s.window))
        dp_warn(c->ctx, "stft will soon require the return_complex parameter be given for real "
                        "inputs, and will further require that return_complex=True in a future "
                        "PyTorch release.");
    c->rc = check_signal(c->ctx, self);
    if (x.ndim == 1 && c->rc == 0)
        t = CHAIN(c, "aten::unsqueeze", "Ti>T", t, (int64_t)0);
    if (mode.s != NULL && c->rc == 0)
        t = centred(&s, t, mode);
    if (c->rc == 0)
        check_lengths(&s, size_at(t, 1));
    if (s.win_length < s.n_fft)
        pad_window(&s, self);
    t = c->rc == 0 ? frames(&s, t, onesided) : NULL;
    if (x.ndim == 1)
        t = CHAIN(c, "aten::squeeze.dim", "Ti>T", t, (int64_t)0);
    if (!(return_complex ? *return_complex : is_complex(self) || is_complex(s.window)))
        t = chain_T(c, "aten::view_as_real", t);
    return chain_end(c, t, out);
}

/* aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor?
 *     window=None, bool center=True, str pad_mode="reflect", bool normalized=False, bool?
 *     onesided=None, bool? return_complex=None) -> Tensor */
static int stft_center(dp_ctx *ctx, dp_tensor *self, int64_t n_fft, const int64_t *hop,
                       const int64_t *win_length, dp_tensor *window, bool center, dp_str mode,
                       bool normalized, const bool *onesided, const bool *return_complex,
                       dp_tensor **out)
{
    stft s = stft_of(ctx, n_fft, hop, win_length, window);

    s.norm = normalized ? NORM_ROOT : NORM_NONE;
    return run_stft(s, self, center ? mode : (dp_str){NULL, 0}, onesided, return_complex, out);
}

/* aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor?
 *     window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None) ->
 *     Tensor */
static int stft_plain(dp_ctx *ctx, dp_tensor *self, int64_t n_fft, const int64_t *hop,
                      const int64_t *win_length, dp_tensor *window, bool normalized,
                      const bool *onesided, const bool *return_complex, dp_tensor **out)
{
    return stft_center(ctx, self, n_fft, hop, win_length, window, false, (dp_str){NULL, 0},
                       normalized, onesided, return_complex, out);
}

/* -- istft -- */

static void check_spectrum(stft *s, const dp_view *x, bool complex, bool onesided, int64_t bins)
{
    chain *c = &s->c;
    int ndim = x->ndim + complex;
    int64_t want = onesided ? s->n_fft / 2 + 1 : s->n_fft;

    if (x->numel == 0)
        chain_fail(c, DP_ERUNTIME, "istft: input tensor cannot be empty.");
    if (ndim != 3 && ndim != 4)
        chain_fail(c, DP_ERUNTIME, "istft: expected a tensor with 3 or 4 dimensions, but got %d",
                   ndim);
    if (!complex && c->rc == 0 && x->sizes[x->ndim - 1] != 2)
        chain_fail(
            c, DP_ERUNTIME,
            "istft: expected the last dimension to be 2 (corresponding to real and imaginary "
            "parts), but got %" PRId64,
            x->sizes[x->ndim - 1]);
    if (c->rc == 0 && bins != want)
        chain_fail(
            c, DP_ERUNTIME,
            "istft: expected the frequency dimension (3rd to the last) of the input tensor to "
            "be %" PRId64 " when onesided=%s, but got %" PRId64,
            want, onesided ? "True" : "False", bins);
    if (c->rc == 0 && !(0 < s->hop && s->hop <= s->win_length))
        chain_fail(c, DP_ERUNTIME, "istft: expected 0 < hop_length <= win_length");
    if (c->rc == 0 && !(0 < s->win_length && s->win_length <= s->n_fft))
        chain_fail(c, DP_ERUNTIME, "istft: expected 0 < win_length <= n_fft");
    check_window(s);
}

/* Return the inverse transforms of `t` [channels, frequencies, frames], as [channels, frames,
 * n_fft]. */
static dp_tensor *signals(stft *s, dp_tensor *t, bool onesided, bool return_complex)
{
    static const int64_t last = 2, zero = 0;
    chain *c = &s->c;
    int64_t half = s->n_fft / 2 + 1;

    t = CHAIN(c, "aten::transpose.int", "Tii>T", t, (int64_t)1, (int64_t)2);
    if (return_complex) {
        if (onesided)
            chain_fail(c, DP_ERUNTIME, "Cannot have onesided output if window or input is complex");
        return CHAIN(c, "aten::_fft_c2c", "Tliib>T", t, &last, (size_t)1, s->norm, (int)false);
    }
    if (is_complex(s->window))
        chain_fail(c, DP_ERUNTIME, "Complex windows are incompatible with return_complex=False");
    if (!onesided)
        t = CHAIN(c, "aten::slice.Tensor", "Tioioii>T", t, (int64_t)-1, &zero, &half, (int64_t)1);
    return CHAIN(c, "aten::_fft_c2r", "Tliii>T", t, &last, (size_t)1, s->norm, s->n_fft);
}

/* Return frames [rows, frames, n_fft] added up at their positions, as [rows, length]. */
static dp_tensor *overlapped(stft *s, dp_tensor *t, int64_t length)
{
    if (s->c.rc < 0)
        return NULL;
    int64_t sizes[2] = {size_at(t, 0), length};
    return CHAIN(&s->c, "aten::unfold_backward", "Tliiii>T", t, sizes, (size_t)2, (int64_t)1,
                 s->n_fft, s->hop);
}

static void check_envelope(stft *s, dp_tensor *envelope)
{
    const double least = 1e-11;
    chain *c = &s->c;
    dp_value low = dp_bool(false);
    dp_tensor *t = chain_T(c, "aten::min", chain_T(c, "aten::abs", envelope));

    t = chain_Ts(c, "aten::lt.Scalar", t, dp_double(least));
    if (c->rc == 0 && !dp_memoryless(c->ctx))
        c->rc = dp_invoke(c->ctx, "aten::_local_scalar_dense", "T>s", t, &low);
    if (c->rc == 0 && low.tag == DP_TAG_BOOL && low.u.b)
        chain_fail(c, DP_ERUNTIME, "istft: window overlap add min: 1");
}

/* Overlap and add the frames `t` [channels, frames, n_fft], divide by the sum of the squared
 * windows, and cut the result to its length. */
static dp_tensor *joined(stft *s, dp_tensor *t, int64_t n_frames, bool center,
                         const int64_t *length)
{
    chain *c = &s->c;
    int64_t whole = s->n_fft + s->hop * (n_frames - 1), shape[3] = {1, n_frames, s->n_fft};
    int64_t start = center ? s->n_fft / 2 : 0, end = center ? -(s->n_fft / 2) : whole;

    if (length && __builtin_add_overflow(start, *length, &end))
        chain_fail(c, DP_ERUNTIME, "istft: a length of %" PRId64, *length);
    dp_tensor *y = overlapped(s, chain_TT(c, "aten::mul.Tensor", t, s->window), whole);
    dp_tensor *w = chain_Ts(c, "aten::pow.Tensor_Scalar", s->window, dp_int(2));
    w = overlapped(s, CHAIN(c, "aten::expand", "Tlib>T", w, shape, (size_t)3, (int)false), whole);
    y = CHAIN(c, "aten::slice.Tensor", "Tioioii>T", y, (int64_t)1, &start, &end, (int64_t)1);
    w = CHAIN(c, "aten::slice.Tensor", "Tioioii>T", w, (int64_t)1, &start, &end, (int64_t)1);
    check_envelope(s, w);
    y = chain_TT(c, "aten::div.Tensor", y, w);
    if (end <= whole)
        return y;
    int64_t pad[2] = {0, end - whole};
    dp_warn(c->ctx,
            "The length of signal is shorter than the length parameter. Result is being padded "
            "with zeros in the tail. Please check your center and hop_length settings.");
    return CHAIN(c, "aten::constant_pad_nd", "Tlis>T", y, pad, (size_t)2, dp_double(0));
}

/* aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor?
 *     window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None,
 *     bool return_complex=False) -> Tensor */
static int istft(dp_ctx *ctx, dp_tensor *self, int64_t n_fft, const int64_t *hop,
                 const int64_t *win_length, dp_tensor *window, bool center, bool normalized,
                 const bool *onesided, const int64_t *length, bool return_complex, dp_tensor **out)
{
    stft s = stft_of(ctx, n_fft, hop, win_length, window);
    chain *c = &s.c;
    bool complex = is_complex(self);
    DP_VIEW(x, self);
    /* index of the dimension of frequencies, before that of frames */
    int first = x.ndim - 2 - !complex;
    int64_t bins = first >= 0 ? x.sizes[first] : 0, n_frames = first >= 0 ? x.sizes[first + 1] : 0;
    bool half = onesided ? *onesided : bins != n_fft;
    dp_tensor *t = self;

    s.norm = normalized ? NORM_ROOT : NORM_ALL;
    /* fails if there is no dimension of frequencies */
    c->rc = wrap_dim(ctx, &(int64_t){-3}, x.ndim + complex);
    check_spectrum(&s, &x, complex, half, bins);
    if (c->rc < 0)
        return chain_end(c, NULL, out);
    if (!complex)
        t = chain_T(c, "aten::view_as_complex",
                    CHAIN(c, "aten::contiguous", "Ti>T", t, (int64_t)0));
    if (first == 0)
        t = CHAIN(c, "aten::unsqueeze", "Ti>T", t, (int64_t)0);
    t = signals(&s, t, half, return_complex);
    if (c->rc == 0)
        pad_window(&s, t);
    t = joined(&s, t, n_frames, center, length);
    if (first == 0)
        t = CHAIN(c, "aten::squeeze.dim", "Ti>T", t, (int64_t)0);
    return chain_end(c, t, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("stft", stft_plain, (T, i, oi, oi, oT, b, ob, ob), (T)),
                DP_IMPL_UNBOXED("stft.center", stft_center, (T, i, oi, oi, oT, b, S, b, ob, ob),
                                (T)),
                DP_IMPL_UNBOXED("istft", istft, (T, i, oi, oi, oT, b, b, ob, oi, b), (T)))
