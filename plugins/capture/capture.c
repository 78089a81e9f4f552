/* capture.c -- plugin capture: records calls of operators for a program that is being captured
 * (torch/csrc/jit/frontend/tracer.h, torch/fx/experimental/proxy_tensor.py).
 *
 * At Functionalize, calls arrive below autograd and autocast, with composite operators decomposed;
 * at Tracer, they arrive as they were made.  The keys are included only while a capture records. */
#include <dispatchd/plugin.h>

DP_PLUGIN(capture, "1.0")

static int capture(dp_call *call)
{
    return dp_capture_call(call);
}
DP_FALLBACK(Functionalize, capture)
DP_FALLBACK(Tracer, capture)
