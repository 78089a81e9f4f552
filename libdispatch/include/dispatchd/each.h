/* dispatchd/each.h -- macros that expand another macro once for each item of a list, for
 * plugin_macros.h, typed.h and dtypes.h.  Plugins must not use these macros. */
#ifndef DISPATCHD_EACH_H
#define DISPATCHD_EACH_H

/* Compilers in strict mode warn of __VA_OPT__, which all supported compilers have; they do not warn
 * in a system header. */
#ifdef __STRICT_ANSI__
#pragma GCC system_header
#endif

#define DP_CAT_(a, b)   a##b
#define DP_CAT(a, b)    DP_CAT_(a, b)
#define DP_STR_(x)      #x
#define DP_STR(x)       DP_STR_(x)
#define DP_UNPAREN(...) __VA_ARGS__

/* DP_EACH(m, n, (a...), (b...)) expands to m(n, a...) m(n, b...).  The first 64 tuples are expanded
 * without rescanning, so small blocks compile quickly; the remainder is expanded 512 tuples at a
 * time, at most 22 times.  Empty tuples that pad the list expand to nothing.  After too many
 * tuples, the output contains the name of a macro, and this name tells the author of the plugin
 * what to do. */
#define DP_EV1(...) __VA_ARGS__
#define DP_EV2(...) DP_EV1(DP_EV1(DP_EV1(DP_EV1(__VA_ARGS__))))
#define DP_EV3(...) DP_EV2(DP_EV2(DP_EV2(DP_EV2(__VA_ARGS__))))
#define DP_PARENS   ()
/* clang-format off */
#define DP_EACH(m, n, ...) __VA_OPT__(DP_EACH_FIRST_(m, n, __VA_ARGS__, DP_NONE_64_, (), ()))
#define DP_NONE_64_ \
    (), (), (), (), (), (), (), (), (), (), (), (), (), (), (), (), \
    (), (), (), (), (), (), (), (), (), (), (), (), (), (), (), (), \
    (), (), (), (), (), (), (), (), (), (), (), (), (), (), (), (), \
    (), (), (), (), (), (), (), (), (), (), (), (), (), (), (), ()
#define DP_NONE_512_ \
    DP_NONE_64_, DP_NONE_64_, DP_NONE_64_, DP_NONE_64_, DP_NONE_64_, DP_NONE_64_, DP_NONE_64_, \
    DP_NONE_64_
#define DP_EACH_64_(m, n, \
    t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, \
    t17, t18, t19, t20, t21, t22, t23, t24, t25, t26, t27, t28, t29, t30, t31, t32, \
    t33, t34, t35, t36, t37, t38, t39, t40, t41, t42, t43, t44, t45, t46, t47, t48, \
    t49, t50, t51, t52, t53, t54, t55, t56, t57, t58, t59, t60, t61, t62, t63, t64, \
    ...) \
    DP_ONE_(m, n, t1) DP_ONE_(m, n, t2) DP_ONE_(m, n, t3) DP_ONE_(m, n, t4) \
    DP_ONE_(m, n, t5) DP_ONE_(m, n, t6) DP_ONE_(m, n, t7) DP_ONE_(m, n, t8) \
    DP_ONE_(m, n, t9) DP_ONE_(m, n, t10) DP_ONE_(m, n, t11) DP_ONE_(m, n, t12) \
    DP_ONE_(m, n, t13) DP_ONE_(m, n, t14) DP_ONE_(m, n, t15) DP_ONE_(m, n, t16) \
    DP_ONE_(m, n, t17) DP_ONE_(m, n, t18) DP_ONE_(m, n, t19) DP_ONE_(m, n, t20) \
    DP_ONE_(m, n, t21) DP_ONE_(m, n, t22) DP_ONE_(m, n, t23) DP_ONE_(m, n, t24) \
    DP_ONE_(m, n, t25) DP_ONE_(m, n, t26) DP_ONE_(m, n, t27) DP_ONE_(m, n, t28) \
    DP_ONE_(m, n, t29) DP_ONE_(m, n, t30) DP_ONE_(m, n, t31) DP_ONE_(m, n, t32) \
    DP_ONE_(m, n, t33) DP_ONE_(m, n, t34) DP_ONE_(m, n, t35) DP_ONE_(m, n, t36) \
    DP_ONE_(m, n, t37) DP_ONE_(m, n, t38) DP_ONE_(m, n, t39) DP_ONE_(m, n, t40) \
    DP_ONE_(m, n, t41) DP_ONE_(m, n, t42) DP_ONE_(m, n, t43) DP_ONE_(m, n, t44) \
    DP_ONE_(m, n, t45) DP_ONE_(m, n, t46) DP_ONE_(m, n, t47) DP_ONE_(m, n, t48) \
    DP_ONE_(m, n, t49) DP_ONE_(m, n, t50) DP_ONE_(m, n, t51) DP_ONE_(m, n, t52) \
    DP_ONE_(m, n, t53) DP_ONE_(m, n, t54) DP_ONE_(m, n, t55) DP_ONE_(m, n, t56) \
    DP_ONE_(m, n, t57) DP_ONE_(m, n, t58) DP_ONE_(m, n, t59) DP_ONE_(m, n, t60) \
    DP_ONE_(m, n, t61) DP_ONE_(m, n, t62) DP_ONE_(m, n, t63) DP_ONE_(m, n, t64)
#define DP_EACH_REST_( \
    t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, \
    t17, t18, t19, t20, t21, t22, t23, t24, t25, t26, t27, t28, t29, t30, t31, t32, \
    t33, t34, t35, t36, t37, t38, t39, t40, t41, t42, t43, t44, t45, t46, t47, t48, \
    t49, t50, t51, t52, t53, t54, t55, t56, t57, t58, t59, t60, t61, t62, t63, t64, \
    ...) __VA_ARGS__
/* clang-format on */
#define DP_EACH_FIRST_(m, n, ...)                                                                  \
    DP_EACH_64_(m, n, __VA_ARGS__)                                                                 \
    DP_EACH_GO_(DP_EACH_MORE_, DP_EACH_REST_(__VA_ARGS__))(m, n, DP_EACH_REST_(__VA_ARGS__))
#define DP_EACH_MORE_(m, n, ...) DP_EV3(DP_EACH_1_(m, n, __VA_ARGS__, DP_NONE_512_))
#define DP_EACH_1_(m, n, ...)                                                                      \
    DP_EACH_64_(m, n, __VA_ARGS__) DP_EACH_2_(m, n, DP_EACH_REST_(__VA_ARGS__))
#define DP_EACH_2_(m, n, ...)                                                                      \
    DP_EACH_64_(m, n, __VA_ARGS__) DP_EACH_3_(m, n, DP_EACH_REST_(__VA_ARGS__))
#define DP_EACH_3_(m, n, ...)                                                                      \
    DP_EACH_64_(m, n, __VA_ARGS__) DP_EACH_4_(m, n, DP_EACH_REST_(__VA_ARGS__))
#define DP_EACH_4_(m, n, ...)                                                                      \
    DP_EACH_64_(m, n, __VA_ARGS__) DP_EACH_5_(m, n, DP_EACH_REST_(__VA_ARGS__))
#define DP_EACH_5_(m, n, ...)                                                                      \
    DP_EACH_64_(m, n, __VA_ARGS__) DP_EACH_6_(m, n, DP_EACH_REST_(__VA_ARGS__))
#define DP_EACH_6_(m, n, ...)                                                                      \
    DP_EACH_64_(m, n, __VA_ARGS__) DP_EACH_7_(m, n, DP_EACH_REST_(__VA_ARGS__))
#define DP_EACH_7_(m, n, ...)                                                                      \
    DP_EACH_64_(m, n, __VA_ARGS__) DP_EACH_8_(m, n, DP_EACH_REST_(__VA_ARGS__))
#define DP_EACH_8_(m, n, ...)                                                                      \
    DP_EACH_64_(m, n, __VA_ARGS__)                                                                 \
    DP_EACH_GO_(DP_EACH_AGAIN_, DP_EACH_REST_(__VA_ARGS__))(m, n, DP_EACH_REST_(__VA_ARGS__))
#define DP_EACH_AGAIN_(m, n, ...)                                                                  \
    DP_MORE_THAN_10000_ITEMS_IN_A_BLOCK_MAKE_TWO_OR_USE_DP_KERNEL DP_PARENS(m, n, __VA_ARGS__)
#define DP_MORE_THAN_10000_ITEMS_IN_A_BLOCK_MAKE_TWO_OR_USE_DP_KERNEL() DP_EACH_1_
#define DP_EACH_END_(...)
/* DP_EACH_GO_(more, (a...), ...) expands to `more`, or, if the tuple is empty, to a macro that
 * expands to nothing. */
#define DP_EACH_GO_(more, ...)           DP_EACH_GO_TO_(more, __VA_ARGS__)
#define DP_EACH_GO_TO_(more, tuple, ...) DP_EACH_GO_IF_(more, DP_UNPAREN tuple)
#define DP_EACH_GO_IF_(more, ...)        DP_PICK_(__VA_OPT__(more, ) DP_EACH_END_, )
#define DP_PICK_(a, ...)                 a
#define DP_ONE_(m, n, tuple)             DP_ONE_OF_(m, n, DP_UNPAREN tuple)
#define DP_ONE_OF_(m, n, ...)            __VA_OPT__(m(n, __VA_ARGS__))

/* DP_COUNT(...): the number of arguments, at most 64 (DP_LIMIT_ARGUMENTS). */
/* clang-format off */
#define DP_COUNT(...) DP_COUNT_(__VA_ARGS__ __VA_OPT__(,) \
    64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, \
    48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, \
    32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, \
    16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, \
    0, )
#define DP_COUNT_( \
    a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, \
    a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, \
    a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, \
    a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, \
    n, ...) n

/* DP_MAP(m, x, y, z) expands to m(3, x) m(2, y) m(1, z): the number counts from the end. */
#define DP_MAP(m, ...) __VA_OPT__(DP_CAT(DP_MAP_, DP_COUNT(__VA_ARGS__))(m, __VA_ARGS__))
#define DP_MAP_1(m, a) m(1, a)
#define DP_MAP_2(m, a, ...) m(2, a) DP_MAP_1(m, __VA_ARGS__)
#define DP_MAP_3(m, a, ...) m(3, a) DP_MAP_2(m, __VA_ARGS__)
#define DP_MAP_4(m, a, ...) m(4, a) DP_MAP_3(m, __VA_ARGS__)
#define DP_MAP_5(m, a, ...) m(5, a) DP_MAP_4(m, __VA_ARGS__)
#define DP_MAP_6(m, a, ...) m(6, a) DP_MAP_5(m, __VA_ARGS__)
#define DP_MAP_7(m, a, ...) m(7, a) DP_MAP_6(m, __VA_ARGS__)
#define DP_MAP_8(m, a, ...) m(8, a) DP_MAP_7(m, __VA_ARGS__)
#define DP_MAP_9(m, a, ...) m(9, a) DP_MAP_8(m, __VA_ARGS__)
#define DP_MAP_10(m, a, ...) m(10, a) DP_MAP_9(m, __VA_ARGS__)
#define DP_MAP_11(m, a, ...) m(11, a) DP_MAP_10(m, __VA_ARGS__)
#define DP_MAP_12(m, a, ...) m(12, a) DP_MAP_11(m, __VA_ARGS__)
#define DP_MAP_13(m, a, ...) m(13, a) DP_MAP_12(m, __VA_ARGS__)
#define DP_MAP_14(m, a, ...) m(14, a) DP_MAP_13(m, __VA_ARGS__)
#define DP_MAP_15(m, a, ...) m(15, a) DP_MAP_14(m, __VA_ARGS__)
#define DP_MAP_16(m, a, ...) m(16, a) DP_MAP_15(m, __VA_ARGS__)
#define DP_MAP_17(m, a, ...) m(17, a) DP_MAP_16(m, __VA_ARGS__)
#define DP_MAP_18(m, a, ...) m(18, a) DP_MAP_17(m, __VA_ARGS__)
#define DP_MAP_19(m, a, ...) m(19, a) DP_MAP_18(m, __VA_ARGS__)
#define DP_MAP_20(m, a, ...) m(20, a) DP_MAP_19(m, __VA_ARGS__)
#define DP_MAP_21(m, a, ...) m(21, a) DP_MAP_20(m, __VA_ARGS__)
#define DP_MAP_22(m, a, ...) m(22, a) DP_MAP_21(m, __VA_ARGS__)
#define DP_MAP_23(m, a, ...) m(23, a) DP_MAP_22(m, __VA_ARGS__)
#define DP_MAP_24(m, a, ...) m(24, a) DP_MAP_23(m, __VA_ARGS__)
#define DP_MAP_25(m, a, ...) m(25, a) DP_MAP_24(m, __VA_ARGS__)
#define DP_MAP_26(m, a, ...) m(26, a) DP_MAP_25(m, __VA_ARGS__)
#define DP_MAP_27(m, a, ...) m(27, a) DP_MAP_26(m, __VA_ARGS__)
#define DP_MAP_28(m, a, ...) m(28, a) DP_MAP_27(m, __VA_ARGS__)
#define DP_MAP_29(m, a, ...) m(29, a) DP_MAP_28(m, __VA_ARGS__)
#define DP_MAP_30(m, a, ...) m(30, a) DP_MAP_29(m, __VA_ARGS__)
#define DP_MAP_31(m, a, ...) m(31, a) DP_MAP_30(m, __VA_ARGS__)
#define DP_MAP_32(m, a, ...) m(32, a) DP_MAP_31(m, __VA_ARGS__)
#define DP_MAP_33(m, a, ...) m(33, a) DP_MAP_32(m, __VA_ARGS__)
#define DP_MAP_34(m, a, ...) m(34, a) DP_MAP_33(m, __VA_ARGS__)
#define DP_MAP_35(m, a, ...) m(35, a) DP_MAP_34(m, __VA_ARGS__)
#define DP_MAP_36(m, a, ...) m(36, a) DP_MAP_35(m, __VA_ARGS__)
#define DP_MAP_37(m, a, ...) m(37, a) DP_MAP_36(m, __VA_ARGS__)
#define DP_MAP_38(m, a, ...) m(38, a) DP_MAP_37(m, __VA_ARGS__)
#define DP_MAP_39(m, a, ...) m(39, a) DP_MAP_38(m, __VA_ARGS__)
#define DP_MAP_40(m, a, ...) m(40, a) DP_MAP_39(m, __VA_ARGS__)
#define DP_MAP_41(m, a, ...) m(41, a) DP_MAP_40(m, __VA_ARGS__)
#define DP_MAP_42(m, a, ...) m(42, a) DP_MAP_41(m, __VA_ARGS__)
#define DP_MAP_43(m, a, ...) m(43, a) DP_MAP_42(m, __VA_ARGS__)
#define DP_MAP_44(m, a, ...) m(44, a) DP_MAP_43(m, __VA_ARGS__)
#define DP_MAP_45(m, a, ...) m(45, a) DP_MAP_44(m, __VA_ARGS__)
#define DP_MAP_46(m, a, ...) m(46, a) DP_MAP_45(m, __VA_ARGS__)
#define DP_MAP_47(m, a, ...) m(47, a) DP_MAP_46(m, __VA_ARGS__)
#define DP_MAP_48(m, a, ...) m(48, a) DP_MAP_47(m, __VA_ARGS__)
#define DP_MAP_49(m, a, ...) m(49, a) DP_MAP_48(m, __VA_ARGS__)
#define DP_MAP_50(m, a, ...) m(50, a) DP_MAP_49(m, __VA_ARGS__)
#define DP_MAP_51(m, a, ...) m(51, a) DP_MAP_50(m, __VA_ARGS__)
#define DP_MAP_52(m, a, ...) m(52, a) DP_MAP_51(m, __VA_ARGS__)
#define DP_MAP_53(m, a, ...) m(53, a) DP_MAP_52(m, __VA_ARGS__)
#define DP_MAP_54(m, a, ...) m(54, a) DP_MAP_53(m, __VA_ARGS__)
#define DP_MAP_55(m, a, ...) m(55, a) DP_MAP_54(m, __VA_ARGS__)
#define DP_MAP_56(m, a, ...) m(56, a) DP_MAP_55(m, __VA_ARGS__)
#define DP_MAP_57(m, a, ...) m(57, a) DP_MAP_56(m, __VA_ARGS__)
#define DP_MAP_58(m, a, ...) m(58, a) DP_MAP_57(m, __VA_ARGS__)
#define DP_MAP_59(m, a, ...) m(59, a) DP_MAP_58(m, __VA_ARGS__)
#define DP_MAP_60(m, a, ...) m(60, a) DP_MAP_59(m, __VA_ARGS__)
#define DP_MAP_61(m, a, ...) m(61, a) DP_MAP_60(m, __VA_ARGS__)
#define DP_MAP_62(m, a, ...) m(62, a) DP_MAP_61(m, __VA_ARGS__)
#define DP_MAP_63(m, a, ...) m(63, a) DP_MAP_62(m, __VA_ARGS__)
#define DP_MAP_64(m, a, ...) m(64, a) DP_MAP_63(m, __VA_ARGS__)

/* DP_LETTERS(T, T, s)(T, T, s) expands to (LT, LT, Ls): the items of the first tuple are only
 * counted, to choose DP_LETTERS_3, and those of the second get the prefix L.  The prefix is pasted
 * before the preprocessor could expand a letter, so the plugin may have a macro named T.  For the
 * same reason callers write DP_LETTERS args __VA_OPT__()##args: the operator ## keeps the second
 * tuple from being expanded. */
#define DP_LETTERS(...) DP_CAT(DP_LETTERS_, DP_COUNT(__VA_ARGS__))
#define DP_LETTERS_0()  ()
#define DP_LETTERS_1(a) (L##a)
#define DP_LETTERS_2(a, ...) (L##a, DP_L_1(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_3(a, ...) (L##a, DP_L_2(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_4(a, ...) (L##a, DP_L_3(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_5(a, ...) (L##a, DP_L_4(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_6(a, ...) (L##a, DP_L_5(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_7(a, ...) (L##a, DP_L_6(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_8(a, ...) (L##a, DP_L_7(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_9(a, ...) (L##a, DP_L_8(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_10(a, ...) (L##a, DP_L_9(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_11(a, ...) (L##a, DP_L_10(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_12(a, ...) (L##a, DP_L_11(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_13(a, ...) (L##a, DP_L_12(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_14(a, ...) (L##a, DP_L_13(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_15(a, ...) (L##a, DP_L_14(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_16(a, ...) (L##a, DP_L_15(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_17(a, ...) (L##a, DP_L_16(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_18(a, ...) (L##a, DP_L_17(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_19(a, ...) (L##a, DP_L_18(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_20(a, ...) (L##a, DP_L_19(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_21(a, ...) (L##a, DP_L_20(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_22(a, ...) (L##a, DP_L_21(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_23(a, ...) (L##a, DP_L_22(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_24(a, ...) (L##a, DP_L_23(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_25(a, ...) (L##a, DP_L_24(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_26(a, ...) (L##a, DP_L_25(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_27(a, ...) (L##a, DP_L_26(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_28(a, ...) (L##a, DP_L_27(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_29(a, ...) (L##a, DP_L_28(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_30(a, ...) (L##a, DP_L_29(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_31(a, ...) (L##a, DP_L_30(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_32(a, ...) (L##a, DP_L_31(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_33(a, ...) (L##a, DP_L_32(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_34(a, ...) (L##a, DP_L_33(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_35(a, ...) (L##a, DP_L_34(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_36(a, ...) (L##a, DP_L_35(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_37(a, ...) (L##a, DP_L_36(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_38(a, ...) (L##a, DP_L_37(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_39(a, ...) (L##a, DP_L_38(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_40(a, ...) (L##a, DP_L_39(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_41(a, ...) (L##a, DP_L_40(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_42(a, ...) (L##a, DP_L_41(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_43(a, ...) (L##a, DP_L_42(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_44(a, ...) (L##a, DP_L_43(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_45(a, ...) (L##a, DP_L_44(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_46(a, ...) (L##a, DP_L_45(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_47(a, ...) (L##a, DP_L_46(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_48(a, ...) (L##a, DP_L_47(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_49(a, ...) (L##a, DP_L_48(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_50(a, ...) (L##a, DP_L_49(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_51(a, ...) (L##a, DP_L_50(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_52(a, ...) (L##a, DP_L_51(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_53(a, ...) (L##a, DP_L_52(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_54(a, ...) (L##a, DP_L_53(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_55(a, ...) (L##a, DP_L_54(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_56(a, ...) (L##a, DP_L_55(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_57(a, ...) (L##a, DP_L_56(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_58(a, ...) (L##a, DP_L_57(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_59(a, ...) (L##a, DP_L_58(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_60(a, ...) (L##a, DP_L_59(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_61(a, ...) (L##a, DP_L_60(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_62(a, ...) (L##a, DP_L_61(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_63(a, ...) (L##a, DP_L_62(__VA_OPT__()##__VA_ARGS__))
#define DP_LETTERS_64(a, ...) (L##a, DP_L_63(__VA_OPT__()##__VA_ARGS__))
#define DP_L_1(a) L##a
#define DP_L_2(a, ...) L##a, DP_L_1(__VA_OPT__()##__VA_ARGS__)
#define DP_L_3(a, ...) L##a, DP_L_2(__VA_OPT__()##__VA_ARGS__)
#define DP_L_4(a, ...) L##a, DP_L_3(__VA_OPT__()##__VA_ARGS__)
#define DP_L_5(a, ...) L##a, DP_L_4(__VA_OPT__()##__VA_ARGS__)
#define DP_L_6(a, ...) L##a, DP_L_5(__VA_OPT__()##__VA_ARGS__)
#define DP_L_7(a, ...) L##a, DP_L_6(__VA_OPT__()##__VA_ARGS__)
#define DP_L_8(a, ...) L##a, DP_L_7(__VA_OPT__()##__VA_ARGS__)
#define DP_L_9(a, ...) L##a, DP_L_8(__VA_OPT__()##__VA_ARGS__)
#define DP_L_10(a, ...) L##a, DP_L_9(__VA_OPT__()##__VA_ARGS__)
#define DP_L_11(a, ...) L##a, DP_L_10(__VA_OPT__()##__VA_ARGS__)
#define DP_L_12(a, ...) L##a, DP_L_11(__VA_OPT__()##__VA_ARGS__)
#define DP_L_13(a, ...) L##a, DP_L_12(__VA_OPT__()##__VA_ARGS__)
#define DP_L_14(a, ...) L##a, DP_L_13(__VA_OPT__()##__VA_ARGS__)
#define DP_L_15(a, ...) L##a, DP_L_14(__VA_OPT__()##__VA_ARGS__)
#define DP_L_16(a, ...) L##a, DP_L_15(__VA_OPT__()##__VA_ARGS__)
#define DP_L_17(a, ...) L##a, DP_L_16(__VA_OPT__()##__VA_ARGS__)
#define DP_L_18(a, ...) L##a, DP_L_17(__VA_OPT__()##__VA_ARGS__)
#define DP_L_19(a, ...) L##a, DP_L_18(__VA_OPT__()##__VA_ARGS__)
#define DP_L_20(a, ...) L##a, DP_L_19(__VA_OPT__()##__VA_ARGS__)
#define DP_L_21(a, ...) L##a, DP_L_20(__VA_OPT__()##__VA_ARGS__)
#define DP_L_22(a, ...) L##a, DP_L_21(__VA_OPT__()##__VA_ARGS__)
#define DP_L_23(a, ...) L##a, DP_L_22(__VA_OPT__()##__VA_ARGS__)
#define DP_L_24(a, ...) L##a, DP_L_23(__VA_OPT__()##__VA_ARGS__)
#define DP_L_25(a, ...) L##a, DP_L_24(__VA_OPT__()##__VA_ARGS__)
#define DP_L_26(a, ...) L##a, DP_L_25(__VA_OPT__()##__VA_ARGS__)
#define DP_L_27(a, ...) L##a, DP_L_26(__VA_OPT__()##__VA_ARGS__)
#define DP_L_28(a, ...) L##a, DP_L_27(__VA_OPT__()##__VA_ARGS__)
#define DP_L_29(a, ...) L##a, DP_L_28(__VA_OPT__()##__VA_ARGS__)
#define DP_L_30(a, ...) L##a, DP_L_29(__VA_OPT__()##__VA_ARGS__)
#define DP_L_31(a, ...) L##a, DP_L_30(__VA_OPT__()##__VA_ARGS__)
#define DP_L_32(a, ...) L##a, DP_L_31(__VA_OPT__()##__VA_ARGS__)
#define DP_L_33(a, ...) L##a, DP_L_32(__VA_OPT__()##__VA_ARGS__)
#define DP_L_34(a, ...) L##a, DP_L_33(__VA_OPT__()##__VA_ARGS__)
#define DP_L_35(a, ...) L##a, DP_L_34(__VA_OPT__()##__VA_ARGS__)
#define DP_L_36(a, ...) L##a, DP_L_35(__VA_OPT__()##__VA_ARGS__)
#define DP_L_37(a, ...) L##a, DP_L_36(__VA_OPT__()##__VA_ARGS__)
#define DP_L_38(a, ...) L##a, DP_L_37(__VA_OPT__()##__VA_ARGS__)
#define DP_L_39(a, ...) L##a, DP_L_38(__VA_OPT__()##__VA_ARGS__)
#define DP_L_40(a, ...) L##a, DP_L_39(__VA_OPT__()##__VA_ARGS__)
#define DP_L_41(a, ...) L##a, DP_L_40(__VA_OPT__()##__VA_ARGS__)
#define DP_L_42(a, ...) L##a, DP_L_41(__VA_OPT__()##__VA_ARGS__)
#define DP_L_43(a, ...) L##a, DP_L_42(__VA_OPT__()##__VA_ARGS__)
#define DP_L_44(a, ...) L##a, DP_L_43(__VA_OPT__()##__VA_ARGS__)
#define DP_L_45(a, ...) L##a, DP_L_44(__VA_OPT__()##__VA_ARGS__)
#define DP_L_46(a, ...) L##a, DP_L_45(__VA_OPT__()##__VA_ARGS__)
#define DP_L_47(a, ...) L##a, DP_L_46(__VA_OPT__()##__VA_ARGS__)
#define DP_L_48(a, ...) L##a, DP_L_47(__VA_OPT__()##__VA_ARGS__)
#define DP_L_49(a, ...) L##a, DP_L_48(__VA_OPT__()##__VA_ARGS__)
#define DP_L_50(a, ...) L##a, DP_L_49(__VA_OPT__()##__VA_ARGS__)
#define DP_L_51(a, ...) L##a, DP_L_50(__VA_OPT__()##__VA_ARGS__)
#define DP_L_52(a, ...) L##a, DP_L_51(__VA_OPT__()##__VA_ARGS__)
#define DP_L_53(a, ...) L##a, DP_L_52(__VA_OPT__()##__VA_ARGS__)
#define DP_L_54(a, ...) L##a, DP_L_53(__VA_OPT__()##__VA_ARGS__)
#define DP_L_55(a, ...) L##a, DP_L_54(__VA_OPT__()##__VA_ARGS__)
#define DP_L_56(a, ...) L##a, DP_L_55(__VA_OPT__()##__VA_ARGS__)
#define DP_L_57(a, ...) L##a, DP_L_56(__VA_OPT__()##__VA_ARGS__)
#define DP_L_58(a, ...) L##a, DP_L_57(__VA_OPT__()##__VA_ARGS__)
#define DP_L_59(a, ...) L##a, DP_L_58(__VA_OPT__()##__VA_ARGS__)
#define DP_L_60(a, ...) L##a, DP_L_59(__VA_OPT__()##__VA_ARGS__)
#define DP_L_61(a, ...) L##a, DP_L_60(__VA_OPT__()##__VA_ARGS__)
#define DP_L_62(a, ...) L##a, DP_L_61(__VA_OPT__()##__VA_ARGS__)
#define DP_L_63(a, ...) L##a, DP_L_62(__VA_OPT__()##__VA_ARGS__)
/* clang-format on */

#endif
