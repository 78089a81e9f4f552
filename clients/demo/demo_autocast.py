"""demo_autocast.py -- part 5: the network of part 4 learns in float32 with autocast to bfloat16."""

import time

from demo import check, connect, say, title
from digits import MixedTraining

LEAST = 94, 97  # per cent of the test images after one pass and after two: PyTorch 1.13.1 reads 95.0 and 97.8


def main():
    title("5. Mixed precision")
    say("The same training with weights in float32, and the steps of the forward pass with autocast: convolutions and "
        "linear layers compute in bfloat16, the loss in float32, as in torch.autocast.")
    print()
    with connect() as d:
        training = MixedTraining(d)
        start = time.perf_counter()
        losses, read = [], []
        for _ in LEAST:
            losses += training.train()
            read.append(training.accuracy())
            print(f"   {len(losses):3} steps   loss {losses[-1]:.6f}   {read[-1]:.1f} % of the test images read right")
        print(f"   in {time.perf_counter() - start:.2f} s\n")
        dtypes = training.dtypes()
        training.close()
        for got, want, passes in zip(read, LEAST, ("one pass", "two passes")):
            check(got >= want, f"{got:.1f} % of the test images after {passes}, at least {want} %")
        check(dtypes == {"float32"}, "the weights are still float32")
        account = d.call("session.get")["account"]
        held = [k for k in ("tensors", "programs", "history") if account[k]["count"]]
        check(not held, "the session holds no tensor, program or graph any more")


main()
