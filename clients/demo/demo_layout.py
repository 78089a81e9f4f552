"""demo_layout.py -- part 1: calls an operator over the socket and shows the kernels that ran."""

import struct

from demo import check, connect, say, title

SHAPE = [1, 64, 5, 4]
COUNT = 64 * 5 * 4


def main():
    title("1. An operator over the socket")
    say("A client sends a float32 tensor of shape [1, 64, 5, 4] and asks for its elements in the "
        "order that puts channels last: aten::contiguous(memory_format=channels_last).")
    values = struct.pack(f"<{COUNT}f", *range(COUNT))
    with connect() as d:
        answer = d.call("op.call", op="aten::contiguous", trace=True,
                        args=[{"dtype": "float32", "shape": SHAPE, "attachment": values}],
                        kwargs={"memory_format": "channels_last"})
        out = answer["outputs"][0]
        print(f"\n   shape   {out['shape']}\n   strides {out['strides']}\n   keys    {out['keys']}\n")
        say("The keys that the call passed, kernels that call others indented:")
        print()
        for step in answer["trace"]:
            print(f"   {'  ' * step['depth']}{step['op']:<{34 - 2 * step['depth']}} {step['key']:<14} "
                  f"{step['plugin']:<10} {step['provenance']:<22} {step['nanos'] / 1000:7.1f} µs")
        print()
        check(out["shape"] == SHAPE, "shape [1, 64, 5, 4]")
        check(out["strides"] == [1280, 1, 256, 64], "strides [1280, 1, 256, 64]")
        check(len(answer["trace"]) > 0, "the trace names the kernels")
        back = d.call("tensor.read", tensor=out["tensor"], **{"as": "attachment"})["attachment"]
        check(back == values, "read back in row-major order, every element is what it was")
        d.release(out)


main()
