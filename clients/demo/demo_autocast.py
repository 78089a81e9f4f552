"""demo_autocast.py -- part 5: the daemon trains the network of part 3 in mixed precision."""

import time

from demo import check, connect, say, title
from digits_autocast import ACCURACY_AFTER_TWO_PASSES, ACCURACY_TOLERANCE, MixedTraining, PYTORCH_ACCURACY


def main():
    title("5. Training in mixed precision")
    say("The same training with weights in float32 and autocast: the layers compute in bfloat16, and the loss "
        f"in float32. PyTorch 1.13.1 reads {PYTORCH_ACCURACY} % of the 360 test images after one pass over the "
        "batches.")
    print()
    with connect() as d:
        training = MixedTraining(d)
        accuracies = []
        for n in 1, 2:
            start = time.perf_counter()
            losses = training.train()
            seconds = time.perf_counter() - start
            accuracies.append(training.accuracy())
            print(f"   pass {n} in {seconds:.2f} s   loss {losses[0]:.4f} to {losses[-1]:.4f}   "
                  f"{accuracies[-1]:.1f} % of the test images right", flush=True)
        print()
        once, twice = accuracies
        check(once >= PYTORCH_ACCURACY - ACCURACY_TOLERANCE,
              f"after one pass {once:.1f} % are right: PyTorch's {PYTORCH_ACCURACY} %, less at most {ACCURACY_TOLERANCE} %")
        check(twice >= ACCURACY_AFTER_TWO_PASSES,
              f"after two passes {twice:.1f} % are right: at least {ACCURACY_AFTER_TWO_PASSES} %")
        check(training.dtypes() == {"float32"}, "the weights are float32")
        training.close()
        held = {k: v for k, v in d.call("session.get")["account"].items() if v["count"]}
        check(not held, "the session holds no tensor and no graph any more")


main()
