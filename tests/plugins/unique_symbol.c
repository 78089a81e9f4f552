/* unique_symbol.c -- defines an STB_GNU_UNIQUE symbol, as C++ templates do: never unmapped. */
#include <dispatchd/plugin.h>

DP_PLUGIN(unique_symbol, "1.0")

__asm__(".pushsection .data\n"
        ".globl dp_test_unique\n"
        ".type dp_test_unique, @gnu_unique_object\n"
        ".size dp_test_unique, 8\n"
        "dp_test_unique: .quad 1\n"
        ".popsection\n");

/* The dynamic linker decides when it binds the name. */
extern int64_t dp_test_unique;
int64_t *const dp_test_reference __attribute__((used, visibility("default"))) = &dp_test_unique;

DP_LIBRARY(unique_symbol, DP_DEF("f(Tensor self) -> Tensor"))
