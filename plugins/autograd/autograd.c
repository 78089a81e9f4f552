/* autograd.c -- plugin autograd: formulas for the gradients of operators, which proto/gen makes of
 * proto/ops/derivatives.yaml. */
#include <dispatchd/plugin.h>

DP_PLUGIN(autograd, "1.0")
