/* dispatchd/typed.h -- C types of operators: the letters of plugin.h, and calling by them.
 *
 *     DP_TYPED(call_add, (T, T, s), (T))
 * makes
 *     int call_add(dp_ctx *, const dp_typed *, dp_tensor *, dp_tensor *, dp_value, dp_tensor **);
 *     int call_add_with(dp_ctx *, const dp_typed *, dp_keyset, ...the same...);
 * of which the second redispatches, with the key set given.
 *     dp_typed add;
 *     dp_typed_init(ctx, "aten::add.Tensor", DP_CODE((T, T, s), (T)), &add);
 *     call_add(ctx, &add, x, y, dp_int(1), &out);
 *
 * A kernel registered with the same letters is called without boxing anything; any other is called
 * boxed.  Returns as in plugin.h; nothing is given on failure. */
#ifndef DISPATCHD_TYPED_H
#define DISPATCHD_TYPED_H

#include "abi.h"

/* -- preprocessor machinery -- */

#define DP_CAT_(a, b)   a##b
#define DP_CAT(a, b)    DP_CAT_(a, b)
#define DP_STR_(x)      #x
#define DP_STR(x)       DP_STR_(x)
#define DP_UNPAREN(...) __VA_ARGS__

/* DP_EACH(m, n, (a...), (b...)): m(n, a...) m(n, b...), up to 340 tuples.  The list ends in an
 * empty one, since -pedantic wants every "..." to be given something. */
#define DP_EV1(...)        __VA_ARGS__
#define DP_EV2(...)        DP_EV1(DP_EV1(DP_EV1(DP_EV1(__VA_ARGS__))))
#define DP_EV3(...)        DP_EV2(DP_EV2(DP_EV2(DP_EV2(__VA_ARGS__))))
#define DP_EV4(...)        DP_EV3(DP_EV3(DP_EV3(DP_EV3(__VA_ARGS__))))
#define DP_EV5(...)        DP_EV4(DP_EV4(DP_EV4(DP_EV4(__VA_ARGS__))))
#define DP_PARENS          ()
#define DP_APPLY(m, ...)   m(__VA_ARGS__)
#define DP_EACH(m, n, ...) __VA_OPT__(DP_EV5(DP_EACH_(m, n, __VA_ARGS__, )))
#define DP_EACH_(m, n, tuple, ...)                                                                 \
    DP_APPLY(m, n, DP_UNPAREN tuple) __VA_OPT__(DP_EACH_AGAIN DP_PARENS(m, n, __VA_ARGS__))
#define DP_EACH_AGAIN() DP_EACH_

/* DP_MAP(m, x...): m(0, x0) m(1, x1) ..., up to 20. */
#define DP_COUNT_(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17,  \
                  a18, a19, n, ...)                                                                \
    n
#define DP_COUNT(...)                                                                              \
    DP_COUNT_(__VA_ARGS__ __VA_OPT__(, ) 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6,   \
              5, 4, 3, 2, 1, 0)
#define DP_MAP(m, ...)                             __VA_OPT__(DP_CAT(DP_MAP_, DP_COUNT(__VA_ARGS__))(m, __VA_ARGS__))
#define DP_MAP_1(m, a)                             m(0, a)
#define DP_MAP_2(m, a, b)                          DP_MAP_1(m, a) m(1, b)
#define DP_MAP_3(m, a, b, c)                       DP_MAP_2(m, a, b) m(2, c)
#define DP_MAP_4(m, a, b, c, d)                    DP_MAP_3(m, a, b, c) m(3, d)
#define DP_MAP_5(m, a, b, c, d, e)                 DP_MAP_4(m, a, b, c, d) m(4, e)
#define DP_MAP_6(m, a, b, c, d, e, f)              DP_MAP_5(m, a, b, c, d, e) m(5, f)
#define DP_MAP_7(m, a, b, c, d, e, f, g)           DP_MAP_6(m, a, b, c, d, e, f) m(6, g)
#define DP_MAP_8(m, a, b, c, d, e, f, g, h)        DP_MAP_7(m, a, b, c, d, e, f, g) m(7, h)
#define DP_MAP_9(m, a, b, c, d, e, f, g, h, i)     DP_MAP_8(m, a, b, c, d, e, f, g, h) m(8, i)
#define DP_MAP_10(m, a, b, c, d, e, f, g, h, i, j) DP_MAP_9(m, a, b, c, d, e, f, g, h, i) m(9, j)
#define DP_MAP_11(m, a, b, c, d, e, f, g, h, i, j, k)                                              \
    DP_MAP_10(m, a, b, c, d, e, f, g, h, i, j) m(10, k)
#define DP_MAP_12(m, a, b, c, d, e, f, g, h, i, j, k, l)                                           \
    DP_MAP_11(m, a, b, c, d, e, f, g, h, i, j, k) m(11, l)
#define DP_MAP_13(m, a, b, c, d, e, f, g, h, i, j, k, l, n)                                        \
    DP_MAP_12(m, a, b, c, d, e, f, g, h, i, j, k, l) m(12, n)
#define DP_MAP_14(m, a, b, c, d, e, f, g, h, i, j, k, l, n, o)                                     \
    DP_MAP_13(m, a, b, c, d, e, f, g, h, i, j, k, l, n) m(13, o)
#define DP_MAP_15(m, a, b, c, d, e, f, g, h, i, j, k, l, n, o, p)                                  \
    DP_MAP_14(m, a, b, c, d, e, f, g, h, i, j, k, l, n, o) m(14, p)
#define DP_MAP_16(m, a, b, c, d, e, f, g, h, i, j, k, l, n, o, p, q)                               \
    DP_MAP_15(m, a, b, c, d, e, f, g, h, i, j, k, l, n, o, p) m(15, q)

/* -- the letters -- */

/* All of them.  Each has a line in every table below; schema.c spells schemas with them. */
/* clang-format off */
#define DP_LETTER_MAP(X)                                                                           \
    X(T) X(i) X(f) X(b) X(s) X(S) X(g) X(oT) X(oi) X(of) X(ob) X(os) X(oS) X(og)                   \
    X(lT) X(li) X(lf) X(lb) X(ls) X(lS) X(loT) X(lli)                                              \
    X(olT) X(oli) X(olf) X(olb) X(ols) X(olS)
/* clang-format on */

#define DP_T_T   dp_tensor *
#define DP_T_oT  dp_tensor *
#define DP_T_i   int64_t
#define DP_T_f   double
#define DP_T_b   bool
#define DP_T_s   dp_value
#define DP_T_S   dp_str
#define DP_T_g   dp_generator *
#define DP_T_og  dp_generator *
#define DP_T_oi  const int64_t *
#define DP_T_of  const double *
#define DP_T_ob  const bool *
#define DP_T_os  const dp_value *
#define DP_T_oS  dp_str
#define DP_T_lT  dp_tensor *const *, size_t
#define DP_T_loT dp_tensor *const *, size_t
#define DP_T_li  const int64_t *, size_t
#define DP_T_lf  const double *, size_t
#define DP_T_lb  const bool *, size_t
#define DP_T_ls  const dp_value *, size_t
#define DP_T_lS  const dp_value *, size_t
#define DP_T_lli const dp_value *, size_t
#define DP_T_olT DP_T_lT
#define DP_T_oli DP_T_li
#define DP_T_olf DP_T_lf
#define DP_T_olb DP_T_lb
#define DP_T_ols DP_T_ls
#define DP_T_olS DP_T_lS

/* dp_value -> C argument.  v is a const dp_value *.  Arguments were checked against the schema. */
#define DP_UNBOX_T(v)   (v)->u.t
#define DP_UNBOX_oT(v)  ((v)->tag ? (v)->u.t : NULL)
#define DP_UNBOX_i(v)   (v)->u.i
#define DP_UNBOX_f(v)   (v)->u.d
#define DP_UNBOX_b(v)   (v)->u.b
#define DP_UNBOX_s(v)   *(v)
#define DP_UNBOX_S(v)   dp_unbox_str(v)
#define DP_UNBOX_g(v)   (v)->u.g
#define DP_UNBOX_og(v)  ((v)->tag ? (v)->u.g : NULL)
#define DP_UNBOX_oi(v)  ((v)->tag ? &(v)->u.i : NULL)
#define DP_UNBOX_of(v)  ((v)->tag ? &(v)->u.d : NULL)
#define DP_UNBOX_ob(v)  ((v)->tag ? &(v)->u.b : NULL)
#define DP_UNBOX_os(v)  ((v)->tag ? (v) : NULL)
#define DP_UNBOX_oS(v)  dp_unbox_str(v)
#define DP_UNBOX_lT(v)  (v)->u.tensors, (v)->len
#define DP_UNBOX_loT(v) (v)->u.tensors, (v)->len
#define DP_UNBOX_li(v)  (v)->u.ints, (v)->len
#define DP_UNBOX_lf(v)  (v)->u.doubles, (v)->len
#define DP_UNBOX_lb(v)  (v)->u.bools, (v)->len
#define DP_UNBOX_ls(v)  (v)->u.values, (v)->len
#define DP_UNBOX_lS(v)  (v)->u.values, (v)->len
#define DP_UNBOX_lli(v) (v)->u.values, (v)->len
#define DP_UNBOX_olT(v) ((v)->tag ? (v)->u.tensors : NULL), (v)->len
#define DP_UNBOX_oli(v) ((v)->tag ? (v)->u.ints : NULL), (v)->len
#define DP_UNBOX_olf(v) ((v)->tag ? (v)->u.doubles : NULL), (v)->len
#define DP_UNBOX_olb(v) ((v)->tag ? (v)->u.bools : NULL), (v)->len
#define DP_UNBOX_ols(v) ((v)->tag ? (v)->u.values : NULL), (v)->len
#define DP_UNBOX_olS(v) ((v)->tag ? (v)->u.values : NULL), (v)->len

__attribute__((unused)) static inline dp_str dp_unbox_str(const dp_value *v)
{
    dp_str s = {v->tag == DP_TAG_STR ? v->u.s : NULL, v->tag == DP_TAG_STR ? v->len : 0};
    return s;
}

/* Return slots: C type, and the slot inside a dp_value that the host made None. */
#define DP_R_T         dp_tensor **
#define DP_R_i         int64_t *
#define DP_R_f         double *
#define DP_R_b         bool *
#define DP_R_oT        dp_tensor **
#define DP_R_s         dp_value *
#define DP_R_S         dp_value *
#define DP_R_lT        dp_value *
#define DP_R_li        dp_value *
#define DP_R_lf        dp_value *
#define DP_R_lb        dp_value *
#define DP_R_ls        dp_value *
#define DP_R_lS        dp_value *
#define DP_R_g         dp_value *
#define DP_R_og        dp_value *
#define DP_R_oi        dp_value *
#define DP_R_of        dp_value *
#define DP_R_ob        dp_value *
#define DP_R_os        dp_value *
#define DP_R_oS        dp_value *
#define DP_R_loT       dp_value *
#define DP_R_lli       dp_value *
#define DP_R_olT       dp_value *
#define DP_R_oli       dp_value *
#define DP_R_olf       dp_value *
#define DP_R_olb       dp_value *
#define DP_R_ols       dp_value *
#define DP_R_olS       dp_value *
#define DP_SLOT_T(v)   ((v)->tag = DP_TAG_TENSOR, (v)->u.t = NULL, &(v)->u.t)
#define DP_SLOT_oT(v)  DP_SLOT_T(v)
#define DP_SLOT_i(v)   ((v)->tag = DP_TAG_INT, (v)->u.i = 0, &(v)->u.i)
#define DP_SLOT_f(v)   ((v)->tag = DP_TAG_DOUBLE, (v)->u.d = 0, &(v)->u.d)
#define DP_SLOT_b(v)   ((v)->tag = DP_TAG_BOOL, (v)->u.i = 0, &(v)->u.b)
#define DP_SLOT_s(v)   (v)
#define DP_SLOT_S(v)   (v)
#define DP_SLOT_lT(v)  (v)
#define DP_SLOT_li(v)  (v)
#define DP_SLOT_lf(v)  (v)
#define DP_SLOT_lb(v)  (v)
#define DP_SLOT_ls(v)  (v)
#define DP_SLOT_lS(v)  (v)
#define DP_SLOT_g(v)   (v)
#define DP_SLOT_og(v)  (v)
#define DP_SLOT_oi(v)  (v)
#define DP_SLOT_of(v)  (v)
#define DP_SLOT_ob(v)  (v)
#define DP_SLOT_os(v)  (v)
#define DP_SLOT_oS(v)  (v)
#define DP_SLOT_loT(v) (v)
#define DP_SLOT_lli(v) (v)
#define DP_SLOT_olT(v) (v)
#define DP_SLOT_oli(v) (v)
#define DP_SLOT_olf(v) (v)
#define DP_SLOT_olb(v) (v)
#define DP_SLOT_ols(v) (v)
#define DP_SLOT_olS(v) (v)

#define DP_SIG_ARG_(i, x)   , DP_T_##x
#define DP_SIG_RET_(i, x)   , DP_R_##x
#define DP_SIG_CODE_(i, x)  #x
#define DP_SIG_UNBOX_(i, x) , DP_UNBOX_##x(call->args + i)
#define DP_SIG_SLOT_(i, x)  , DP_SLOT_##x(call->rets + i)
#define DP_FN_TYPE(args, rets)                                                                     \
    int (*)(dp_ctx * DP_MAP(DP_SIG_ARG_, DP_UNPAREN args) DP_MAP(DP_SIG_RET_, DP_UNPAREN rets))
#define DP_CODE(args, rets)                                                                        \
    DP_MAP(DP_SIG_CODE_, DP_UNPAREN args) ">" DP_MAP(DP_SIG_CODE_, DP_UNPAREN rets)

/* -- the caller's side: parameter, argument, key set and box of letter x at position i -- */

#define DP_CLASS_T   ONE
#define DP_CLASS_oT  ONE
#define DP_CLASS_i   ONE
#define DP_CLASS_f   ONE
#define DP_CLASS_b   ONE
#define DP_CLASS_s   ONE
#define DP_CLASS_S   ONE
#define DP_CLASS_g   ONE
#define DP_CLASS_og  ONE
#define DP_CLASS_oi  ONE
#define DP_CLASS_of  ONE
#define DP_CLASS_ob  ONE
#define DP_CLASS_os  ONE
#define DP_CLASS_oS  ONE
#define DP_CLASS_lT  LIST
#define DP_CLASS_loT LIST
#define DP_CLASS_li  LIST
#define DP_CLASS_lf  LIST
#define DP_CLASS_lb  LIST
#define DP_CLASS_ls  LIST
#define DP_CLASS_lS  LIST
#define DP_CLASS_lli LIST
#define DP_CLASS_olT LIST
#define DP_CLASS_oli LIST
#define DP_CLASS_olf LIST
#define DP_CLASS_olb LIST
#define DP_CLASS_ols LIST
#define DP_CLASS_olS LIST

#define DP_ITEM_T_lT  dp_tensor *const *
#define DP_ITEM_T_loT dp_tensor *const *
#define DP_ITEM_T_li  const int64_t *
#define DP_ITEM_T_lf  const double *
#define DP_ITEM_T_lb  const bool *
#define DP_ITEM_T_ls  const dp_value *
#define DP_ITEM_T_lS  const dp_value *
#define DP_ITEM_T_lli const dp_value *
#define DP_ITEM_T_olT dp_tensor *const *
#define DP_ITEM_T_oli const int64_t *
#define DP_ITEM_T_olf const double *
#define DP_ITEM_T_olb const bool *
#define DP_ITEM_T_ols const dp_value *
#define DP_ITEM_T_olS const dp_value *

#define DP_PARAM_ONE(i, x)  DP_T_##x a##i
#define DP_PARAM_LIST(i, x) DP_ITEM_T_##x a##i, size_t n##i
#define DP_PASS_ONE(i)      a##i
#define DP_PASS_LIST(i)     a##i, n##i

/* The asm does nothing: without it the compiler makes the two words one vector, which then goes
 * through memory to the two registers that dp_enter() takes them in. */
static inline dp_keyset dp_keys_one(dp_keyset ks, const dp_tensor *t)
{
    const dp_keyset *k = (const dp_keyset *)(const void *)t;

    if (k == NULL)
        return ks;
    ks.functionality |= k->functionality;
    __asm__("" : "+r"(ks.functionality));
    ks.backend |= k->backend;
    return ks;
}
static inline dp_keyset dp_keys_list(dp_keyset ks, dp_tensor *const *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ks = dp_keys_one(ks, t[i]);
    return ks;
}
#define DP_KEYS_T(i)   ks_ = dp_keys_one(ks_, a##i);
#define DP_KEYS_oT(i)  DP_KEYS_T(i)
#define DP_KEYS_lT(i)  ks_ = dp_keys_list(ks_, a##i, n##i);
#define DP_KEYS_loT(i) DP_KEYS_lT(i)
#define DP_KEYS_olT(i) DP_KEYS_lT(i)
#define DP_KEYS_i(i)
#define DP_KEYS_f(i)
#define DP_KEYS_b(i)
#define DP_KEYS_s(i)
#define DP_KEYS_S(i)
#define DP_KEYS_g(i)  ks_ = dp_keys_one(ks_, (const dp_tensor *)(const void *)a##i);
#define DP_KEYS_og(i) DP_KEYS_g(i)
#define DP_KEYS_oi(i)
#define DP_KEYS_of(i)
#define DP_KEYS_ob(i)
#define DP_KEYS_os(i)
#define DP_KEYS_oS(i)
#define DP_KEYS_li(i)
#define DP_KEYS_lf(i)
#define DP_KEYS_lb(i)
#define DP_KEYS_ls(i)
#define DP_KEYS_lS(i)
#define DP_KEYS_lli(i)
#define DP_KEYS_oli(i)
#define DP_KEYS_olf(i)
#define DP_KEYS_olb(i)
#define DP_KEYS_ols(i)
#define DP_KEYS_olS(i)

static inline dp_value dp_box_list(uint32_t tag, const void *p, size_t n, bool optional)
{
    dp_value v = {optional && p == NULL ? (uint32_t)DP_TAG_NONE : tag, (uint32_t)n, {0}};
    v.u.values = (const dp_value *)p;
    return v;
}
static inline dp_value dp_box_str(dp_str s)
{
    dp_value v = {s.s ? (uint32_t)DP_TAG_STR : (uint32_t)DP_TAG_NONE, (uint32_t)s.len, {0}};
    v.u.s = s.s;
    return v;
}
static inline dp_value dp_box_generator(dp_generator *g)
{
    dp_value v = {g ? (uint32_t)DP_TAG_GENERATOR : (uint32_t)DP_TAG_NONE, 0, {0}};
    v.u.g = g;
    return v;
}
#define DP_BOX_T(i)   dp_tensor_value(a##i)
#define DP_BOX_oT(i)  dp_tensor_value(a##i)
#define DP_BOX_i(i)   dp_int(a##i)
#define DP_BOX_f(i)   dp_double(a##i)
#define DP_BOX_b(i)   dp_bool(a##i)
#define DP_BOX_s(i)   a##i
#define DP_BOX_S(i)   dp_box_str(a##i)
#define DP_BOX_g(i)   dp_box_generator(a##i)
#define DP_BOX_og(i)  dp_box_generator(a##i)
#define DP_BOX_oi(i)  a##i ? dp_int(*a##i) : dp_none()
#define DP_BOX_of(i)  a##i ? dp_double(*a##i) : dp_none()
#define DP_BOX_ob(i)  a##i ? dp_bool(*a##i) : dp_none()
#define DP_BOX_os(i)  a##i ? *a##i : dp_none()
#define DP_BOX_oS(i)  dp_box_str(a##i)
#define DP_BOX_lT(i)  dp_box_list(DP_TAG_TENSORS, a##i, n##i, false)
#define DP_BOX_loT(i) dp_box_list(DP_TAG_TENSORS, a##i, n##i, false)
#define DP_BOX_li(i)  dp_box_list(DP_TAG_INTS, a##i, n##i, false)
#define DP_BOX_lf(i)  dp_box_list(DP_TAG_DOUBLES, a##i, n##i, false)
#define DP_BOX_lb(i)  dp_box_list(DP_TAG_BOOLS, a##i, n##i, false)
#define DP_BOX_ls(i)  dp_box_list(DP_TAG_LIST, a##i, n##i, false)
#define DP_BOX_lS(i)  dp_box_list(DP_TAG_LIST, a##i, n##i, false)
#define DP_BOX_lli(i) dp_box_list(DP_TAG_LIST, a##i, n##i, false)
#define DP_BOX_olT(i) dp_box_list(DP_TAG_TENSORS, a##i, n##i, true)
#define DP_BOX_oli(i) dp_box_list(DP_TAG_INTS, a##i, n##i, true)
#define DP_BOX_olf(i) dp_box_list(DP_TAG_DOUBLES, a##i, n##i, true)
#define DP_BOX_olb(i) dp_box_list(DP_TAG_BOOLS, a##i, n##i, true)
#define DP_BOX_ols(i) dp_box_list(DP_TAG_LIST, a##i, n##i, true)
#define DP_BOX_olS(i) dp_box_list(DP_TAG_LIST, a##i, n##i, true)

/* From a boxed return into the caller's slot; and is an unboxed tensor return there? */
#define DP_GIVE_T(i)   *r##i = rets_[i].u.t;
#define DP_GIVE_oT(i)  *r##i = rets_[i].tag ? rets_[i].u.t : NULL;
#define DP_GIVE_i(k)   *r##k = rets_[k].u.i;
#define DP_GIVE_f(i)   *r##i = rets_[i].u.d;
#define DP_GIVE_b(i)   *r##i = rets_[i].u.b;
#define DP_GIVE_s(i)   *r##i = rets_[i];
#define DP_GIVE_S(i)   DP_GIVE_s(i)
#define DP_GIVE_lT(i)  DP_GIVE_s(i)
#define DP_GIVE_li(i)  DP_GIVE_s(i)
#define DP_GIVE_lf(i)  DP_GIVE_s(i)
#define DP_GIVE_lb(i)  DP_GIVE_s(i)
#define DP_GIVE_ls(i)  DP_GIVE_s(i)
#define DP_GIVE_lS(i)  DP_GIVE_s(i)
#define DP_GIVE_g(i)   DP_GIVE_s(i)
#define DP_GIVE_og(i)  DP_GIVE_s(i)
#define DP_GIVE_oi(i)  DP_GIVE_s(i)
#define DP_GIVE_of(i)  DP_GIVE_s(i)
#define DP_GIVE_ob(i)  DP_GIVE_s(i)
#define DP_GIVE_os(i)  DP_GIVE_s(i)
#define DP_GIVE_oS(i)  DP_GIVE_s(i)
#define DP_GIVE_loT(i) DP_GIVE_s(i)
#define DP_GIVE_lli(i) DP_GIVE_s(i)
#define DP_GIVE_olT(i) DP_GIVE_s(i)
#define DP_GIVE_oli(i) DP_GIVE_s(i)
#define DP_GIVE_olf(i) DP_GIVE_s(i)
#define DP_GIVE_olb(i) DP_GIVE_s(i)
#define DP_GIVE_ols(i) DP_GIVE_s(i)
#define DP_GIVE_olS(i) DP_GIVE_s(i)

#define DP_TY_CLASS_(m, x, ...) DP_CAT(m, DP_CLASS_##x)(__VA_ARGS__)
#define DP_TY_PARAM_(i, x)      , DP_TY_CLASS_(DP_PARAM_, x, i, x)
#define DP_TY_PASS_(i, x)       , DP_TY_CLASS_(DP_PASS_, x, i)
#define DP_TY_RET_(i, x)        , DP_R_##x r##i
#define DP_TY_PASS_RET_(i, x)   , r##i
#define DP_TY_KEYS_(i, x)       DP_KEYS_##x(i)
#define DP_TY_BOX_(i, x)        DP_BOX_##x(i),
#define DP_TY_GIVE_(i, x)       DP_GIVE_##x(i)

#define DP_TYPED(name, args, rets)                                                                 \
    DP_TYPED_(name, (), dp_enter(ctx_, op_, ks_, &entered_), args, rets)                           \
    DP_TYPED_(name##_with, (, dp_keyset keys_), dp_enter_with(ctx_, op_, keys_, ks_, &entered_),   \
              args, rets)
#define DP_TYPED_(name, with, enter, args, rets)                                                   \
    __attribute__((unused)) static inline int name(                                                \
        dp_ctx *ctx_, const dp_typed *op_ DP_UNPAREN with DP_MAP(DP_TY_PARAM_, DP_UNPAREN args)    \
                          DP_MAP(DP_TY_RET_, DP_UNPAREN rets))                                     \
    {                                                                                              \
        dp_entered entered_;                                                                       \
        dp_keyset ks_ = {0, 0};                                                                    \
        DP_MAP(DP_TY_KEYS_, DP_UNPAREN args)                                                       \
        int rc_ = enter;                                                                           \
        if (rc_ < 0)                                                                               \
            return rc_;                                                                            \
        if (entered_.unboxed != NULL) {                                                            \
            rc_ = ((DP_FN_TYPE(args, rets))entered_.unboxed)(ctx_ DP_MAP(                          \
                DP_TY_PASS_, DP_UNPAREN args) DP_MAP(DP_TY_PASS_RET_, DP_UNPAREN rets));           \
        } else {                                                                                   \
            dp_value args_[] = {DP_MAP(DP_TY_BOX_, DP_UNPAREN args) dp_none()};                    \
            dp_value rets_[DP_COUNT(DP_UNPAREN rets) + 1];                                         \
            rc_ = dp_run_boxed(ctx_, &entered_, args_, sizeof(args_) / sizeof(args_[0]) - 1,       \
                               rets_, DP_COUNT(DP_UNPAREN rets));                                  \
            if (rc_ == 0) {                                                                        \
                DP_MAP(DP_TY_GIVE_, DP_UNPAREN rets)                                               \
            }                                                                                      \
        }                                                                                          \
        return dp_leave(ctx_, &entered_, rc_);                                                     \
    }

#endif
