/* slope_2.c -- plugin `slope`, release 2: a formula for own::same that says by which release a call
 * was recorded. */
#include <dispatchd/plugin.h>

DP_PLUGIN(slope, "2.0")

DP_FORMULAS(own, DP_FORMULA("same", "",
                            "in grad Tensor\n"
                            "dx = aten::mul.Scalar(grad, 2)\n"
                            "out x dx\n"))
