/* random_programs.h -- makes programs at random that view and write: text for dp_builder_text().
 * The sizes of all values are known, so that most programs run. */
#ifndef RANDOM_PROGRAMS_H
#define RANDOM_PROGRAMS_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { VARS = 200, TEXT = 20000 };

typedef struct var {
    int ndim, sizes[4];
    bool list, expanded, bools;
    bool fresh; /* memory of its own, contiguous */
    int root;   /* the variable whose memory it shares; ROOT_NEW: its own; ROOT_ANY: unknown */
} var;
enum { ROOT_NEW = -1, ROOT_ANY = -2 };

typedef struct maker {
    uint64_t seed;
    char text[TEXT];
    size_t at;
    var vars[VARS];
    int n;
} maker;

static inline uint32_t draw(maker *m, uint32_t n)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->seed >> 33) % n;
}

static inline void put(maker *m, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    m->at += (size_t)vsnprintf(m->text + m->at, TEXT - m->at, format, ap);
    va_end(ap);
}

/* Return a random tensor: with `write`, one that can be written. */
static inline int any(maker *m, bool write)
{
    for (int tries = 0; tries < 50; tries++) {
        int v = (int)draw(m, (uint32_t)m->n);
        if (!m->vars[v].list && !(write && (m->vars[v].expanded || m->vars[v].bools)))
            return v;
    }
    return 0;
}

static inline bool same_sizes(const var *a, const var *b)
{
    return a->ndim == b->ndim &&
           memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof(*a->sizes)) == 0;
}

/* Return a random tensor with the sizes of v; `v` if none is found. */
static inline int any_like(maker *m, int v)
{
    for (int tries = 0; tries < 20; tries++) {
        int u = any(m, false);
        if (same_sizes(&m->vars[u], &m->vars[v]))
            return u;
    }
    return v;
}

/* Return a random tensor with the sizes of v: `v`, or one that shares no memory with it.  What an
 * operator computes that reads a part of what it writes depends on the order of its elements, and
 * PyTorch does not notice all such calls. */
static inline int any_apart(maker *m, int v)
{
    for (int tries = 0; tries < 20; tries++) {
        int u = any_like(m, v), root = m->vars[u].root;
        if (u == v || (root != ROOT_ANY && root != m->vars[v].root))
            return u;
    }
    return v;
}

static inline int new_var(maker *m, var v)
{
    if (v.root == ROOT_NEW)
        v.root = m->n;
    m->vars[m->n] = v;
    return m->n++;
}

static inline void condition(maker *m)
{
    if (draw(m, 9) == 0)
        put(m, "when %s: ", draw(m, 2) ? "c" : "d");
}

/* Add a step that returns a new tensor. */
static inline void put_fresh(maker *m)
{
    static const char *const unary[] = {"neg", "relu", "clone", "abs", "sigmoid", "square"};
    int a = any(m, false), b = any_like(m, a);
    var v = m->vars[a];

    v.expanded = v.bools = false;
    v.fresh = false;
    v.root = ROOT_NEW;
    switch (draw(m, 8)) {
    case 0:
        put(m, "v%d = aten::add(v%d, v%d)\n", new_var(m, v), a, b);
        break;
    case 1:
        put(m, "v%d = aten::mul(v%d, 0.5)\n", new_var(m, v), a);
        break;
    case 2:
        put(m, "v%d = aten::sub(v%d, v%d, alpha=2)\n", new_var(m, v), a, b);
        break;
    case 3:
        v.fresh = true;
        put(m, "s%d = get sizes(v%d)\nv%d = aten::zeros(s%d)\n", m->n, a, m->n, m->n);
        new_var(m, v);
        break;
    case 4:
        v.bools = true;
        put(m, "v%d = aten::lt(v%d, v%d)\n", new_var(m, v), a, b);
        break;
    case 5:
        if (v.ndim > 0) {
            put(m, "v%d = aten::amax(v%d, [0])\n", m->n, a);
            memmove(v.sizes, v.sizes + 1, sizeof(v.sizes) - sizeof(*v.sizes));
            v.ndim--;
            new_var(m, v);
        }
        break;
    case 6:
        if (!m->vars[a].bools)
            put(m, "v%d = aten::dropout(v%d, 0.5, true)\n", new_var(m, v), a);
        break;
    default:
        if (!m->vars[a].bools)
            put(m, "v%d = aten::%s(v%d)\n", new_var(m, v), unary[draw(m, 6)], a);
    }
}

/* Add a step that returns a view. */
static inline void put_view(maker *m)
{
    int a = any(m, false), d, n, k;
    var v = m->vars[a];

    v.fresh = false;
    d = v.ndim > 0 ? (int)draw(m, (uint32_t)v.ndim) : 0;
    n = v.ndim > 0 ? v.sizes[d] : 0;
    switch (v.ndim == 0 ? 3 + draw(m, 2) : draw(m, 13)) {
    case 0:
        put(m, "v%d = ", m->n);
        condition(m);
        put(m, "aten::select(v%d, %d, %d)\n", a, d, (int)draw(m, (uint32_t)n));
        memmove(v.sizes + d, v.sizes + d + 1, (size_t)(3 - d) * sizeof(*v.sizes));
        v.ndim--;
        break;
    case 1:
        k = (int)draw(m, (uint32_t)n);
        put(m, "v%d = aten::slice(v%d, %d, %d, 9, 2)\n", m->n, a, d, k);
        v.sizes[d] = (n - k + 1) / 2;
        break;
    case 2:
        if (v.ndim < 2)
            return;
        k = (int)draw(m, (uint32_t)v.ndim);
        put(m, "v%d = aten::transpose(v%d, %d, %d)\n", m->n, a, d, k);
        n = v.sizes[d];
        v.sizes[d] = v.sizes[k];
        v.sizes[k] = n;
        break;
    case 3:
        if (v.ndim > 2)
            return;
        put(m, "v%d = aten::unsqueeze(v%d, 0)\n", m->n, a);
        memmove(v.sizes + 1, v.sizes, 3 * sizeof(*v.sizes));
        v.sizes[0] = 1;
        v.ndim++;
        break;
    case 4:
        put(m, "v%d = aten::%s(v%d)\n", m->n, draw(m, 2) ? "alias" : "detach", a);
        break;
    case 5:
        if (v.ndim != 2)
            return;
        put(m, "v%d = aten::diagonal(v%d)\n", m->n, a);
        v.sizes[0] = v.sizes[0] < v.sizes[1] ? v.sizes[0] : v.sizes[1];
        v.ndim = 1;
        break;
    case 6:
        k = 1 + (int)draw(m, (uint32_t)n);
        put(m, "v%d = aten::narrow(v%d, %d, %d, %d)\n", m->n, a, d, n - k, k);
        v.sizes[d] = k;
        break;
    case 7:
    case 8: { /* a list, and an item of it */
        static const char *const lists[] = {"unbind(v%d, %d)", "split(v%d, 1, %d)",
                                            "chunk(v%d, 2, %d)"};
        int which = (int)draw(m, 3), list = new_var(m, (var){.list = true, .root = ROOT_ANY});
        put(m, "v%d = aten::", list);
        put(m, lists[which], a, d);
        k = (int)draw(m, (uint32_t)(which < 2 ? n : 1));
        put(m, "\nv%d = v%d[%d]\n", m->n, list, k);
        if (which == 0) {
            memmove(v.sizes + d, v.sizes + d + 1, (size_t)(3 - d) * sizeof(*v.sizes));
            v.ndim--;
        } else {
            v.sizes[d] = which == 1 ? 1 : (n + 1) / 2;
        }
        break;
    }
    case 9:
        if (v.ndim > 2 || n < 2)
            return;
        put(m, "v%d = aten::unfold(v%d, %d, 2, 1)\n", m->n, a, d);
        v.sizes[d] = n - 1;
        v.sizes[v.ndim++] = 2;
        v.expanded = true; /* its parts overlap */
        break;
    case 10:
        if (v.ndim > 2)
            return;
        put(m, "u%d = aten::unsqueeze(v%d, 0)\n", m->n, a);
        memmove(v.sizes + 1, v.sizes, 3 * sizeof(*v.sizes));
        v.sizes[0] = 2;
        v.ndim++;
        put(m, "v%d = aten::expand(u%d, [2", m->n, m->n);
        for (k = 1; k < v.ndim; k++)
            put(m, ", %d", v.sizes[k]);
        put(m, "])\n");
        v.expanded = true;
        break;
    case 11:
        if (!m->vars[a].fresh || v.ndim != 2)
            return;
        if (draw(m, 2)) {
            put(m, "v%d = aten::view(v%d, [%d])\n", m->n, a, v.sizes[0] * v.sizes[1]);
            v.sizes[0] *= v.sizes[1];
        } else {
            put(m, "v%d = aten::as_strided(v%d, [%d], [1])\n", m->n, a, v.sizes[1]);
            v.sizes[0] = v.sizes[1];
        }
        v.ndim = 1;
        break;
    default:
        if (v.ndim != 3)
            return;
        put(m, "v%d = aten::permute(v%d, [2, -3, 1])\n", m->n, a);
        v.sizes[0] = m->vars[a].sizes[2];
        v.sizes[1] = m->vars[a].sizes[0];
        v.sizes[2] = m->vars[a].sizes[1];
    }
    new_var(m, v);
}

/* Add a step that writes. */
static inline void put_write(maker *m)
{
    static const char *const writes[] = {
        "aten::relu_(v%d)",      "aten::add_(v%d, 1)",         "aten::mul_(v%d, -0.5)",
        "aten::zero_(v%d)",      "aten::fill_(v%d, 3)",        "aten::neg_(v%d)",
        "aten::clamp_(v%d, -1)", "aten::lt_(v%d, 0.25)",       "aten::normal_(v%d)",
        "aten::uniform_(v%d)",   "aten::bernoulli_(v%d, 0.5)", "aten::dropout_(v%d, 0.5, true)",
        "aten::sigmoid_(v%d)",   "aten::random_(v%d, 5)",      "aten::exponential_(v%d)",
    };
    static const char *const both[] = {
        "aten::add_(v%d, v%d)",     "aten::copy_(v%d, v%d)",      "aten::mul_(v%d, v%d)",
        "aten::ge_(v%d, v%d)",      "aten::lerp_(v%d, v%d, 0.5)", "aten::addcmul_(v%d, v%d, v%d)",
        "aten::maximum_(v%d, v%d)",
    };
    int a = any(m, true), b = any_apart(m, a), e = any_apart(m, a);
    bool named = draw(m, 3) == 0;

    switch (draw(m, 6)) {
    case 0:
    case 1:
        put(m, "%s%d = ", named ? "v" : "w", named ? m->n : m->n * 1000 + (int)m->at);
        condition(m);
        put(m, writes[draw(m, 15)], a);
        break;
    case 2:
    case 3:
        put(m, "%s%d = ", named ? "v" : "w", named ? m->n : m->n * 1000 + (int)m->at);
        condition(m);
        put(m, both[draw(m, 6)], a, b, e);
        break;
    case 4:
        put(m, "%s%d = aten::add(v%d, v%d, out=v%d)", named ? "v" : "w",
            named ? m->n : m->n * 1000 + (int)m->at, b, e, a);
        break;
    default: {
        int at = m->n, other = any(m, true);
        named = false;
        put(m, "v%d = [v%d, v%d]\n", at, a, other);
        new_var(m, (var){.list = true, .root = ROOT_ANY});
        if (draw(m, 2))
            put(m, "aten::_foreach_add_(v%d, 2)", at);
        else
            put(m, "k%d = [v%d, v%d]\naten::_foreach_mul_(v%d, k%d)", at, any_apart(m, a),
                any_apart(m, other), at, at);
    }
    }
    put(m, "\n");
    if (named) {
        var v = m->vars[a];
        v.fresh = false;
        new_var(m, v);
    }
}

/* Make a program of `steps` steps or a few more. */
static inline void make_program(maker *m, uint64_t seed, int steps)
{
    *m = (maker){.seed = seed * 0x9e3779b97f4a7c15u + 1};
    put(m, "in c int\nin d int\nin v0 Tensor\nin v1 Tensor\nin l Tensor[]\n");
    m->vars[0] = m->vars[1] = (var){.ndim = 2, .sizes = {4, 3}};
    m->n = 2;
    put(m, "v2 = aten::mul(v0, 1)\nv3 = l[1]\n");
    m->vars[2] = m->vars[3] = m->vars[0];
    m->n = 4;
    for (int i = 0; i < m->n; i++)
        m->vars[i].root = i;
    for (int i = 0; i < steps && m->n < VARS - 8; i++) {
        uint32_t what = draw(m, 10);
        if (what < 2)
            put_fresh(m);
        else if (what < 6)
            put_view(m);
        else if (what < 9)
            put_write(m);
        else {
            int a = any(m, false), b = any_like(m, a);
            var v = m->vars[a];
            v.expanded = true; /* not written */
            v.fresh = false;
            v.root = ROOT_ANY;
            put(m, "v%d = select(%s, v%d, v%d)\n", new_var(m, v), draw(m, 2) ? "c" : "d", a, b);
        }
    }
    for (int i = 0; i < 8; i++) {
        int v = (int)draw(m, (uint32_t)m->n);
        put(m, "out o%d v%d\n", i, v);
    }
}

#endif
