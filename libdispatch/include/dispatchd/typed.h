/* dispatchd/typed.h -- calls of operators with C types: the C type of each letter of plugin.h, and
 * functions that call an operator by its letters.
 *
 *     DP_TYPED(call_add, (T, T, s), (T))
 *
 * defines two functions.  The first calls an operator; the second redispatches with a given key
 * set:
 *
 *     int call_add(dp_ctx *, const dp_typed *, dp_tensor *, dp_tensor *, dp_value, dp_tensor **);
 *     int call_add_with(dp_ctx *, const dp_typed *, dp_keyset, ...the same parameters...);
 *
 * A caller looks the operator up once and then calls it:
 *
 *     dp_typed add;
 *     dp_typed_init(ctx, "aten::add.Tensor", DP_CODE((T, T, s), (T)), &add);
 *     call_add(ctx, &add, x, y, dp_int(1), &out);
 *
 * If the chosen kernel was registered with the same letters, it is called without boxing any
 * argument; any other kernel is called boxed.  Returns have the types of plugin.h, and are owned by
 * the caller; after a failure the slots have undefined contents and the caller owns nothing.  The
 * tables below use LT in place of T, since a plugin may have a macro named T (each.h). */
#ifndef DISPATCHD_TYPED_H
#define DISPATCHD_TYPED_H

/* Keeps compilers in strict mode from warning of __VA_OPT__ (each.h). */
#ifdef __STRICT_ANSI__
#pragma GCC system_header
#endif

#include "abi.h"
#include "each.h"

/* -- the letters -- */

/* All letters.  Each letter has a line in every table below.  libdispatch/dispatch/schema/type.c
 * computes the letters of a schema. */
/* clang-format off */
#define DP_LETTER_MAP(X)                                                                           \
    X(T) X(i) X(f) X(b) X(s) X(S) X(g) X(oT) X(oi) X(of) X(ob) X(os) X(oS) X(og) X(O) X(oO)        \
    X(lT) X(li) X(lf) X(lb) X(ls) X(lS) X(loT) X(lli)                                              \
    X(olT) X(oli) X(olf) X(olb) X(ols) X(olS)
/* clang-format on */

/* Reserved letters, also with o or l before them.  An operator with such a type has no unboxed
 * kernels and no callers with C types. */
#define DP_T_Lc    DP_letter_c_is_reserved_for_complex
#define DP_T_Ly    DP_letter_y_is_reserved_for_a_SymInt_that_is_no_number
#define DP_T_LU    DP_letter_U_is_reserved_for_Storage
#define DP_T_LM    DP_letter_M_is_reserved_for_Stream
#define DP_T_LoloT DP_letters_oloT_are_reserved_for_an_optional_list_of_Tensors_that_may_be_None

#define DP_T_LT   dp_tensor *
#define DP_T_LoT  dp_tensor *
#define DP_T_Li   int64_t
#define DP_T_Lf   double
#define DP_T_Lb   bool
#define DP_T_Ls   dp_value
#define DP_T_LS   dp_str
#define DP_T_Lg   dp_generator *
#define DP_T_LO   dp_object *
#define DP_T_Log  dp_generator *
#define DP_T_LoO  dp_object *
#define DP_T_Loi  const int64_t *
#define DP_T_Lof  const double *
#define DP_T_Lob  const bool *
#define DP_T_Los  const dp_value *
#define DP_T_LoS  dp_str
#define DP_T_LlT  dp_tensor *const *, size_t
#define DP_T_LloT dp_tensor *const *, size_t
#define DP_T_Lli  const int64_t *, size_t
#define DP_T_Llf  const double *, size_t
#define DP_T_Llb  const bool *, size_t
#define DP_T_Lls  const dp_value *, size_t
#define DP_T_LlS  const dp_value *, size_t
#define DP_T_Llli const dp_value *, size_t
#define DP_T_LolT DP_T_LlT
#define DP_T_Loli DP_T_Lli
#define DP_T_Lolf DP_T_Llf
#define DP_T_Lolb DP_T_Llb
#define DP_T_Lols DP_T_Lls
#define DP_T_LolS DP_T_LlS

/* Conversion of a dp_value to a C argument.  `v` is a const dp_value *, which was checked against
 * the schema. */
#define DP_UNBOX_LT(v)   (v)->u.t
#define DP_UNBOX_LoT(v)  ((v)->tag ? (v)->u.t : NULL)
#define DP_UNBOX_Li(v)   (v)->u.i
#define DP_UNBOX_Lf(v)   (v)->u.d
#define DP_UNBOX_Lb(v)   (v)->u.b
#define DP_UNBOX_Ls(v)   *(v)
#define DP_UNBOX_LS(v)   dp_unbox_str(v)
#define DP_UNBOX_Lg(v)   (v)->u.g
#define DP_UNBOX_LO(v)   (v)->u.o
#define DP_UNBOX_Log(v)  ((v)->tag ? (v)->u.g : NULL)
#define DP_UNBOX_LoO(v)  ((v)->tag ? (v)->u.o : NULL)
#define DP_UNBOX_Loi(v)  ((v)->tag ? &(v)->u.i : NULL)
#define DP_UNBOX_Lof(v)  ((v)->tag ? &(v)->u.d : NULL)
#define DP_UNBOX_Lob(v)  ((v)->tag ? &(v)->u.b : NULL)
#define DP_UNBOX_Los(v)  ((v)->tag ? (v) : NULL)
#define DP_UNBOX_LoS(v)  dp_unbox_str(v)
#define DP_UNBOX_LlT(v)  (v)->u.tensors, (v)->len
#define DP_UNBOX_LloT(v) (v)->u.tensors, (v)->len
#define DP_UNBOX_Lli(v)  (v)->u.ints, (v)->len
#define DP_UNBOX_Llf(v)  (v)->u.doubles, (v)->len
#define DP_UNBOX_Llb(v)  (v)->u.bools, (v)->len
#define DP_UNBOX_Lls(v)  (v)->u.values, (v)->len
#define DP_UNBOX_LlS(v)  (v)->u.values, (v)->len
#define DP_UNBOX_Llli(v) (v)->u.values, (v)->len
#define DP_UNBOX_LolT(v) ((v)->tag ? (v)->u.tensors : NULL), (v)->len
#define DP_UNBOX_Loli(v) ((v)->tag ? (v)->u.ints : NULL), (v)->len
#define DP_UNBOX_Lolf(v) ((v)->tag ? (v)->u.doubles : NULL), (v)->len
#define DP_UNBOX_Lolb(v) ((v)->tag ? (v)->u.bools : NULL), (v)->len
#define DP_UNBOX_Lols(v) ((v)->tag ? (v)->u.values : NULL), (v)->len
#define DP_UNBOX_LolS(v) ((v)->tag ? (v)->u.values : NULL), (v)->len

__attribute__((unused)) static inline dp_str dp_unbox_str(const dp_value *v)
{
    dp_str s = {v->tag == DP_TAG_STR ? v->u.s : NULL, v->tag == DP_TAG_STR ? v->len : 0};
    return s;
}

/* Slots of returns.  DP_R_ is the C type of a pointer to the slot; DP_SLOT_ is that pointer, if the
 * slot lies in a dp_value that the host has set to None. */
#define DP_R_LT         dp_tensor **
#define DP_R_Li         int64_t *
#define DP_R_Lf         double *
#define DP_R_Lb         bool *
#define DP_R_LoT        dp_tensor **
#define DP_R_Ls         dp_value *
#define DP_R_LS         dp_value *
#define DP_R_LlT        dp_value *
#define DP_R_Lli        dp_value *
#define DP_R_Llf        dp_value *
#define DP_R_Llb        dp_value *
#define DP_R_Lls        dp_value *
#define DP_R_LlS        dp_value *
#define DP_R_Lg         dp_value *
#define DP_R_LO         dp_value *
#define DP_R_Log        dp_value *
#define DP_R_LoO        dp_value *
#define DP_R_Loi        dp_value *
#define DP_R_Lof        dp_value *
#define DP_R_Lob        dp_value *
#define DP_R_Los        dp_value *
#define DP_R_LoS        dp_value *
#define DP_R_LloT       dp_value *
#define DP_R_Llli       dp_value *
#define DP_R_LolT       dp_value *
#define DP_R_Loli       dp_value *
#define DP_R_Lolf       dp_value *
#define DP_R_Lolb       dp_value *
#define DP_R_Lols       dp_value *
#define DP_R_LolS       dp_value *
#define DP_SLOT_LT(v)   ((v)->tag = DP_TAG_TENSOR, (v)->u.t = NULL, &(v)->u.t)
#define DP_SLOT_LoT(v)  DP_SLOT_LT(v)
#define DP_SLOT_Li(v)   ((v)->tag = DP_TAG_INT, (v)->u.i = 0, &(v)->u.i)
#define DP_SLOT_Lf(v)   ((v)->tag = DP_TAG_DOUBLE, (v)->u.d = 0, &(v)->u.d)
#define DP_SLOT_Lb(v)   ((v)->tag = DP_TAG_BOOL, (v)->u.i = 0, &(v)->u.b)
#define DP_SLOT_Ls(v)   (v)
#define DP_SLOT_LS(v)   (v)
#define DP_SLOT_LlT(v)  (v)
#define DP_SLOT_Lli(v)  (v)
#define DP_SLOT_Llf(v)  (v)
#define DP_SLOT_Llb(v)  (v)
#define DP_SLOT_Lls(v)  (v)
#define DP_SLOT_LlS(v)  (v)
#define DP_SLOT_Lg(v)   (v)
#define DP_SLOT_LO(v)   (v)
#define DP_SLOT_Log(v)  (v)
#define DP_SLOT_LoO(v)  (v)
#define DP_SLOT_Loi(v)  (v)
#define DP_SLOT_Lof(v)  (v)
#define DP_SLOT_Lob(v)  (v)
#define DP_SLOT_Los(v)  (v)
#define DP_SLOT_LoS(v)  (v)
#define DP_SLOT_LloT(v) (v)
#define DP_SLOT_Llli(v) (v)
#define DP_SLOT_LolT(v) (v)
#define DP_SLOT_Loli(v) (v)
#define DP_SLOT_Lolf(v) (v)
#define DP_SLOT_Lolb(v) (v)
#define DP_SLOT_Lols(v) (v)
#define DP_SLOT_LolS(v) (v)

/* The letters as text, for DP_CODE() and for the ELF note of a plugin (plugin_macros.h). */
#define DP_NAME_LT   "T"
#define DP_NAME_Li   "i"
#define DP_NAME_Lf   "f"
#define DP_NAME_Lb   "b"
#define DP_NAME_Ls   "s"
#define DP_NAME_LS   "S"
#define DP_NAME_Lg   "g"
#define DP_NAME_LO   "O"
#define DP_NAME_LoT  "oT"
#define DP_NAME_Loi  "oi"
#define DP_NAME_Lof  "of"
#define DP_NAME_Lob  "ob"
#define DP_NAME_Los  "os"
#define DP_NAME_LoS  "oS"
#define DP_NAME_Log  "og"
#define DP_NAME_LoO  "oO"
#define DP_NAME_LlT  "lT"
#define DP_NAME_Lli  "li"
#define DP_NAME_Llf  "lf"
#define DP_NAME_Llb  "lb"
#define DP_NAME_Lls  "ls"
#define DP_NAME_LlS  "lS"
#define DP_NAME_LloT "loT"
#define DP_NAME_Llli "lli"
#define DP_NAME_LolT "olT"
#define DP_NAME_Loli "oli"
#define DP_NAME_Lolf "olf"
#define DP_NAME_Lolb "olb"
#define DP_NAME_Lols "ols"
#define DP_NAME_LolS "olS"

/* Macros that DP_MAP applies to each letter of a tuple such as (LT, LT, Ls).  `i` is the position
 * of the letter `x`, counted from the end, as in DP_MAP. */
#define DP_SIG_ARG_(i, x)   , DP_T_##x
#define DP_SIG_RET_(i, x)   , DP_R_##x
#define DP_SIG_CODE_(i, x)  DP_NAME_##x
#define DP_SIG_UNBOX_(i, x) , DP_UNBOX_##x(dp_args_ - i)
#define DP_SIG_SLOT_(i, x)  , DP_SLOT_##x(dp_rets_ - i)
#define DP_FN_TYPE_(star, args, rets)                                                              \
    int(star)(dp_ctx * DP_MAP(DP_SIG_ARG_, DP_UNPAREN args) DP_MAP(DP_SIG_RET_, DP_UNPAREN rets))
#define DP_CODE_(args, rets)                                                                       \
    DP_MAP(DP_SIG_CODE_, DP_UNPAREN args) ">" DP_MAP(DP_SIG_CODE_, DP_UNPAREN rets)

#define DP_CODE(args, ...)                                                                         \
    DP_CODE_(DP_LETTERS args __VA_OPT__()##args, DP_LETTERS __VA_ARGS__ __VA_OPT__()##__VA_ARGS__)

/* -- the caller's side: parameters, arguments, key sets and boxed values, by letter -- */

/* ONE: the letter stands for one C argument.  LIST: it stands for two, a pointer and a length. */
#define DP_CLASS_LT   ONE
#define DP_CLASS_LoT  ONE
#define DP_CLASS_Li   ONE
#define DP_CLASS_Lf   ONE
#define DP_CLASS_Lb   ONE
#define DP_CLASS_Ls   ONE
#define DP_CLASS_LS   ONE
#define DP_CLASS_Lg   ONE
#define DP_CLASS_LO   ONE
#define DP_CLASS_Log  ONE
#define DP_CLASS_LoO  ONE
#define DP_CLASS_Loi  ONE
#define DP_CLASS_Lof  ONE
#define DP_CLASS_Lob  ONE
#define DP_CLASS_Los  ONE
#define DP_CLASS_LoS  ONE
#define DP_CLASS_LlT  LIST
#define DP_CLASS_LloT LIST
#define DP_CLASS_Lli  LIST
#define DP_CLASS_Llf  LIST
#define DP_CLASS_Llb  LIST
#define DP_CLASS_Lls  LIST
#define DP_CLASS_LlS  LIST
#define DP_CLASS_Llli LIST
#define DP_CLASS_LolT LIST
#define DP_CLASS_Loli LIST
#define DP_CLASS_Lolf LIST
#define DP_CLASS_Lolb LIST
#define DP_CLASS_Lols LIST
#define DP_CLASS_LolS LIST

/* C type of the pointer of a list. */
#define DP_ITEM_T_LlT  dp_tensor *const *
#define DP_ITEM_T_LloT dp_tensor *const *
#define DP_ITEM_T_Lli  const int64_t *
#define DP_ITEM_T_Llf  const double *
#define DP_ITEM_T_Llb  const bool *
#define DP_ITEM_T_Lls  const dp_value *
#define DP_ITEM_T_LlS  const dp_value *
#define DP_ITEM_T_Llli const dp_value *
#define DP_ITEM_T_LolT dp_tensor *const *
#define DP_ITEM_T_Loli const int64_t *
#define DP_ITEM_T_Lolf const double *
#define DP_ITEM_T_Lolb const bool *
#define DP_ITEM_T_Lols const dp_value *
#define DP_ITEM_T_LolS const dp_value *

/* Declare and pass the C argument, or arguments, of the letter at position `i`: a<i>, n<i>. */
#define DP_PARAM_ONE(i, x)  DP_T_##x a##i
#define DP_PARAM_LIST(i, x) DP_ITEM_T_##x a##i, size_t n##i
#define DP_PASS_ONE(i)      a##i
#define DP_PASS_LIST(i)     a##i, n##i

/* The load is atomic because other threads may change the keys.  The atomic load also keeps the
 * compiler from loading both words as one vector, which would have to go through memory to get into
 * the two registers in which dp_enter() takes them. */
static inline dp_keyset dp_keys_one(dp_keyset ks, const dp_tensor *t)
{
    const dp_keyset *k = (const dp_keyset *)(const void *)t;

    if (k == NULL)
        return ks;
    ks.functionality |= __atomic_load_n(&k->functionality, __ATOMIC_RELAXED);
    ks.backend |= k->backend;
    return ks;
}
static inline dp_keyset dp_keys_list(dp_keyset ks, dp_tensor *const *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ks = dp_keys_one(ks, t[i]);
    return ks;
}
/* Add the keys of the argument at position `i` to the key set ks_. */
#define DP_KEYS_LT(i)   ks_ = dp_keys_one(ks_, a##i);
#define DP_KEYS_LoT(i)  DP_KEYS_LT(i)
#define DP_KEYS_LlT(i)  ks_ = dp_keys_list(ks_, a##i, n##i);
#define DP_KEYS_LloT(i) DP_KEYS_LlT(i)
#define DP_KEYS_LolT(i) DP_KEYS_LlT(i)
#define DP_KEYS_Li(i)
#define DP_KEYS_Lf(i)
#define DP_KEYS_Lb(i)
#define DP_KEYS_Ls(i)
#define DP_KEYS_LS(i)
#define DP_KEYS_Lg(i) ks_ = dp_keys_one(ks_, (const dp_tensor *)(const void *)a##i);
#define DP_KEYS_LO(i)
#define DP_KEYS_Log(i) DP_KEYS_Lg(i)
#define DP_KEYS_LoO(i)
#define DP_KEYS_Loi(i)
#define DP_KEYS_Lof(i)
#define DP_KEYS_Lob(i)
#define DP_KEYS_Los(i)
#define DP_KEYS_LoS(i)
#define DP_KEYS_Lli(i)
#define DP_KEYS_Llf(i)
#define DP_KEYS_Llb(i)
#define DP_KEYS_Lls(i)
#define DP_KEYS_LlS(i)
#define DP_KEYS_Llli(i)
#define DP_KEYS_Loli(i)
#define DP_KEYS_Lolf(i)
#define DP_KEYS_Lolb(i)
#define DP_KEYS_Lols(i)
#define DP_KEYS_LolS(i)

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
/* The argument at position `i` as a dp_value. */
#define DP_BOX_LT(i)   dp_tensor_value(a##i)
#define DP_BOX_LoT(i)  dp_tensor_value(a##i)
#define DP_BOX_Li(i)   dp_int(a##i)
#define DP_BOX_Lf(i)   dp_double(a##i)
#define DP_BOX_Lb(i)   dp_bool(a##i)
#define DP_BOX_Ls(i)   a##i
#define DP_BOX_LS(i)   dp_box_str(a##i)
#define DP_BOX_Lg(i)   dp_box_generator(a##i)
#define DP_BOX_LO(i)   dp_object_value(a##i)
#define DP_BOX_Log(i)  dp_box_generator(a##i)
#define DP_BOX_LoO(i)  dp_object_value(a##i)
#define DP_BOX_Loi(i)  a##i ? dp_int(*a##i) : dp_none()
#define DP_BOX_Lof(i)  a##i ? dp_double(*a##i) : dp_none()
#define DP_BOX_Lob(i)  a##i ? dp_bool(*a##i) : dp_none()
#define DP_BOX_Los(i)  a##i ? *a##i : dp_none()
#define DP_BOX_LoS(i)  dp_box_str(a##i)
#define DP_BOX_LlT(i)  dp_box_list(DP_TAG_TENSORS, a##i, n##i, false)
#define DP_BOX_LloT(i) dp_box_list(DP_TAG_TENSORS, a##i, n##i, false)
#define DP_BOX_Lli(i)  dp_box_list(DP_TAG_INTS, a##i, n##i, false)
#define DP_BOX_Llf(i)  dp_box_list(DP_TAG_DOUBLES, a##i, n##i, false)
#define DP_BOX_Llb(i)  dp_box_list(DP_TAG_BOOLS, a##i, n##i, false)
#define DP_BOX_Lls(i)  dp_box_list(DP_TAG_LIST, a##i, n##i, false)
#define DP_BOX_LlS(i)  dp_box_list(DP_TAG_LIST, a##i, n##i, false)
#define DP_BOX_Llli(i) dp_box_list(DP_TAG_LIST, a##i, n##i, false)
#define DP_BOX_LolT(i) dp_box_list(DP_TAG_TENSORS, a##i, n##i, true)
#define DP_BOX_Loli(i) dp_box_list(DP_TAG_INTS, a##i, n##i, true)
#define DP_BOX_Lolf(i) dp_box_list(DP_TAG_DOUBLES, a##i, n##i, true)
#define DP_BOX_Lolb(i) dp_box_list(DP_TAG_BOOLS, a##i, n##i, true)
#define DP_BOX_Lols(i) dp_box_list(DP_TAG_LIST, a##i, n##i, true)
#define DP_BOX_LolS(i) dp_box_list(DP_TAG_LIST, a##i, n##i, true)

/* Copy a boxed return to the caller's slot. */
#define DP_GIVE_LT(i)   *r##i = end_[-(i)].u.t;
#define DP_GIVE_LoT(i)  *r##i = end_[-(i)].tag ? end_[-(i)].u.t : NULL;
#define DP_GIVE_Li(k)   *r##k = end_[-(k)].u.i;
#define DP_GIVE_Lf(i)   *r##i = end_[-(i)].u.d;
#define DP_GIVE_Lb(i)   *r##i = end_[-(i)].u.b;
#define DP_GIVE_Ls(i)   *r##i = end_[-(i)];
#define DP_GIVE_LS(i)   DP_GIVE_Ls(i)
#define DP_GIVE_LlT(i)  DP_GIVE_Ls(i)
#define DP_GIVE_Lli(i)  DP_GIVE_Ls(i)
#define DP_GIVE_Llf(i)  DP_GIVE_Ls(i)
#define DP_GIVE_Llb(i)  DP_GIVE_Ls(i)
#define DP_GIVE_Lls(i)  DP_GIVE_Ls(i)
#define DP_GIVE_LlS(i)  DP_GIVE_Ls(i)
#define DP_GIVE_Lg(i)   DP_GIVE_Ls(i)
#define DP_GIVE_LO(i)   DP_GIVE_Ls(i)
#define DP_GIVE_Log(i)  DP_GIVE_Ls(i)
#define DP_GIVE_LoO(i)  DP_GIVE_Ls(i)
#define DP_GIVE_Loi(i)  DP_GIVE_Ls(i)
#define DP_GIVE_Lof(i)  DP_GIVE_Ls(i)
#define DP_GIVE_Lob(i)  DP_GIVE_Ls(i)
#define DP_GIVE_Los(i)  DP_GIVE_Ls(i)
#define DP_GIVE_LoS(i)  DP_GIVE_Ls(i)
#define DP_GIVE_LloT(i) DP_GIVE_Ls(i)
#define DP_GIVE_Llli(i) DP_GIVE_Ls(i)
#define DP_GIVE_LolT(i) DP_GIVE_Ls(i)
#define DP_GIVE_Loli(i) DP_GIVE_Ls(i)
#define DP_GIVE_Lolf(i) DP_GIVE_Ls(i)
#define DP_GIVE_Lolb(i) DP_GIVE_Ls(i)
#define DP_GIVE_Lols(i) DP_GIVE_Ls(i)
#define DP_GIVE_LolS(i) DP_GIVE_Ls(i)

#define DP_TY_CLASS_(m, x, ...) DP_CAT(m, DP_CLASS_##x)(__VA_ARGS__)
#define DP_TY_PARAM_(i, x)      , DP_TY_CLASS_(DP_PARAM_, x, i, x)
#define DP_TY_PASS_(i, x)       , DP_TY_CLASS_(DP_PASS_, x, i)
#define DP_TY_RET_(i, x)        , DP_R_##x r##i
#define DP_TY_PASS_RET_(i, x)   , r##i
#define DP_TY_KEYS_(i, x)       DP_KEYS_##x(i)
#define DP_TY_BOX_(i, x)        DP_BOX_##x(i),
#define DP_TY_GIVE_(i, x)       DP_GIVE_##x(i)

#define DP_TYPED(name, args, ...)                                                                  \
    DP_TYPED_PAIR_(name, DP_LETTERS args __VA_OPT__()##args,                                       \
                   DP_LETTERS __VA_ARGS__ __VA_OPT__()##__VA_ARGS__)
#define DP_TYPED_PAIR_(name, args, rets)                                                           \
    DP_TYPED_BOXED_(name##_boxed_, args, rets)                                                     \
    DP_TYPED_(name, (), dp_enter(ctx_, op_, ks_, &entered_), name##_boxed_, args, rets)            \
    DP_TYPED_(name##_with, (, dp_keyset keys_), dp_enter_with(ctx_, op_, keys_, ks_, &entered_),   \
              name##_boxed_, args, rets)
/* The function is inlined into its callers, which saves a nanosecond for each call.  The code that
 * boxes arguments is larger, so it is not inlined. */
#define DP_TYPED_(name, with, enter, boxed, args, rets)                                            \
    __attribute__((unused, always_inline)) static inline int name(                                 \
        dp_ctx *ctx_, const dp_typed *op_ DP_UNPAREN with DP_MAP(DP_TY_PARAM_, DP_UNPAREN args)    \
                          DP_MAP(DP_TY_RET_, DP_UNPAREN rets))                                     \
    {                                                                                              \
        dp_entered entered_;                                                                       \
        dp_keyset ks_ = {0, 0};                                                                    \
        DP_MAP(DP_TY_KEYS_, DP_UNPAREN args)                                                       \
        int rc_ = enter;                                                                           \
        if (rc_ < 0)                                                                               \
            return rc_;                                                                            \
        if (__builtin_expect(entered_.unboxed != NULL, 1))                                         \
            rc_ = ((DP_FN_TYPE_(*, args, rets))entered_.unboxed)(ctx_ DP_MAP(                      \
                DP_TY_PASS_, DP_UNPAREN args) DP_MAP(DP_TY_PASS_RET_, DP_UNPAREN rets));           \
        else                                                                                       \
            rc_ = boxed(ctx_, &entered_ DP_MAP(DP_TY_PASS_, DP_UNPAREN args)                       \
                                  DP_MAP(DP_TY_PASS_RET_, DP_UNPAREN rets));                       \
        return dp_leave(ctx_, &entered_, rc_);                                                     \
    }
/* -- handles: a dp_typed that the first caller fills in -- */

/* A static variable that is zero at first.  The first call fills it in for the registry of its
 * context; after that it does not change, and calls with contexts of other registries look the
 * operator up each time. */
typedef struct dp_handle {
    uint64_t registry; /* 0: not filled in; 1: a thread is filling it in */
    dp_typed typed;
} dp_handle;

/* Return the number of the context's registry.  The number is never 0 or 1, and no other registry
 * of the process ever has it.  Any thread. */
static inline uint64_t dp_ctx_registry(const dp_ctx *ctx)
{
    return *(const uint64_t *)(const void *)ctx; /* a context begins with this number */
}

__attribute__((unused, noinline, cold)) static int
dp_handle_fill(dp_ctx *ctx, dp_handle *h, const char *name, const char *code, dp_typed *own)
{
    uint64_t nobody = 0;
    int rc = dp_typed_init(ctx, name, code, own);

    if (rc < 0 || !__atomic_compare_exchange_n(&h->registry, &nobody, 1, false, __ATOMIC_ACQUIRE,
                                               __ATOMIC_RELAXED))
        return rc;
    h->typed = *own;
    __atomic_store_n(&h->registry, dp_ctx_registry(ctx), __ATOMIC_RELEASE);
    return 0;
}

/* Body of a function that calls operator `name` with the letters `code`.  `call` is a function that
 * DP_TYPED defined.  The body uses a parameter `ctx`. */
#define DP_HANDLE_CALL(call, name, code, ...)                                                      \
    static dp_handle handle_;                                                                      \
    dp_typed own_;                                                                                 \
    const dp_typed *typed_ = &handle_.typed;                                                       \
    if (__builtin_expect(                                                                          \
            __atomic_load_n(&handle_.registry, __ATOMIC_ACQUIRE) != dp_ctx_registry(ctx), 0)) {    \
        int rc_ = dp_handle_fill(ctx, &handle_, name, code, &own_);                                \
        if (rc_ < 0)                                                                               \
            return rc_;                                                                            \
        typed_ = &own_;                                                                            \
    }                                                                                              \
    return call(ctx, typed_, __VA_ARGS__)

#define DP_TYPED_BOXED_(name, args, rets)                                                          \
    __attribute__((unused, noinline)) static int name(                                             \
        dp_ctx *ctx_, dp_entered *entered_ DP_MAP(DP_TY_PARAM_, DP_UNPAREN args)                   \
                          DP_MAP(DP_TY_RET_, DP_UNPAREN rets))                                     \
    {                                                                                              \
        dp_value args_[] = {DP_MAP(DP_TY_BOX_, DP_UNPAREN args) dp_none()};                        \
        dp_value rets_[DP_COUNT(DP_UNPAREN rets) + 1];                                             \
        const dp_value *end_ = rets_ + DP_COUNT(DP_UNPAREN rets);                                  \
        int rc_ = dp_run_boxed(ctx_, entered_, args_, sizeof(args_) / sizeof(args_[0]) - 1, rets_, \
                               DP_COUNT(DP_UNPAREN rets));                                         \
        if (rc_ == 0) {                                                                            \
            (void)end_;                                                                            \
            DP_MAP(DP_TY_GIVE_, DP_UNPAREN rets)                                                   \
        }                                                                                          \
        return rc_;                                                                                \
    }

/* -- calls by name with checked types --
 *
 *     DP_INVOKE(ctx, "aten::add.Tensor", (T, T, s), (T), a, b, dp_int(1), &out)
 *
 * equals dp_invoke(ctx, "aten::add.Tensor", "TTs>T", a, b, dp_int(1), &out), but the compiler
 * checks the number and the types of the arguments.  A pointer or a struct must have the type of
 * its letter; a number is converted to that type, so a plain 0 is valid for i.  A list takes two
 * arguments, the pointer and the length.  The macro is an expression of type int, and evaluates
 * each argument once. */
#define DP_INVOKE(ctx, name, args, rets, ...)                                                      \
    DP_INVOKE_(ctx, name, DP_LETTERS args __VA_OPT__()##args, DP_LETTERS rets __VA_OPT__()##rets,  \
               __VA_ARGS__)
#ifdef __cplusplus
#define DP_INVOKE_(ctx, name, args, rets, ...)                                                     \
    ([](dp_ctx *ctx_, const char *name_ DP_MAP(DP_TY_PARAM_, DP_UNPAREN args)                      \
                          DP_MAP(DP_TY_RET_, DP_UNPAREN rets)) {                                   \
        return dp_invoke(ctx_, name_,                                                              \
                         DP_CODE_(args, rets) DP_MAP(DP_TY_PASS_, DP_UNPAREN args)                 \
                             DP_MAP(DP_TY_PASS_RET_, DP_UNPAREN rets));                            \
    }(ctx, name, __VA_ARGS__))
#else
/* DP_MAP counts positions from the end, so a type and its argument get the same number, although
 * the list of types begins with one more item.  The call inside sizeof is not evaluated; it makes
 * the compiler report a wrong number of arguments. */
#define DP_INVOKE_(ctx, name, args, rets, ...)                                                     \
    DP_INVOKE_TYPES_(ctx, name, DP_CODE_(args, rets),                                              \
                     (DP_MAP(DP_SIG_ARG_, DP_UNPAREN args) DP_MAP(DP_SIG_RET_, DP_UNPAREN rets)),  \
                     __VA_ARGS__)
#define DP_INVOKE_TYPES_(ctx, name, code, types, ...)                                              \
    __extension__({                                                                                \
        DP_MAP(DP_IN_TYPE_, DP_TAIL_ types)                                                        \
        DP_MAP(DP_IN_CHECK_, __VA_ARGS__)                                                          \
        DP_MAP(DP_IN_VALUE_, __VA_ARGS__)                                                          \
        (void)sizeof(((int (*)(dp_ctx * DP_UNPAREN types))0)(0 DP_MAP(DP_IN_PASS_, __VA_ARGS__))); \
        dp_invoke(ctx, name, code DP_MAP(DP_IN_PASS_, __VA_ARGS__));                               \
    })
#define DP_TAIL_(none, ...)  __VA_ARGS__
#define DP_IN_TYPE_(i, type) typedef type dp_in_type_##i##_;
#define DP_IN_VALUE_(i, a)   dp_in_type_##i##_ dp_in_##i##_ = (a);
#define DP_IN_PASS_(i, a)    , dp_in_##i##_
#define DP_IN_CHECK_(i, a)                                                                         \
    _Static_assert(DP_IN_FITS_(dp_in_type_##i##_, a),                                              \
                   "DP_INVOKE: '" #a "' is not of the C type of its letter");
/* Does the type of `a` fit `type`?  For a number, `a` must be a number, without a fraction if
 * `type` has none.  For any other type, `a` must have the same type, or be a T * where `type` is
 * const T *: a conditional expression of both has the type to which both convert. */
#define DP_IN_FITS_(type, a)                                                                       \
    (DP_NUMBER_(*(type *)0) ? DP_NUMBER_(a) != 0 && DP_NUMBER_(a) <= DP_NUMBER_(*(type *)0)        \
                            : DP_NUMBER_(a) == 0 && __builtin_types_compatible_p(                  \
                                                        __typeof__(1 ? *(type *)0 : (a)), type))
/* 1: integer; 2: number with a fraction; 0: not a number. */
#define DP_NUMBER_(a)                                                                              \
    _Generic((a), bool : 1, char : 1, signed char : 1, unsigned char : 1, short : 1,               \
             unsigned short : 1, int : 1, unsigned : 1, long : 1, unsigned long : 1,               \
             long long : 1, unsigned long long : 1, float : 2, double : 2, long double : 2,        \
             default : 0)
#endif

#endif
