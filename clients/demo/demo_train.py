"""demo_train.py -- part 4: the daemon trains the network of part 3 as PyTorch did, in two ways."""

import time

from demo import check, connect, say, title
from digits import TRAIN, Training, difference

LOSS_TOLERANCE = 1e-12    # largest difference allowed to PyTorch's losses
WEIGHT_TOLERANCE = 1e-10  # and to its weights after the last step


def train(d, as_program):
    """Train with all batches and check each loss and the final weights."""
    training = Training(d, as_program)
    losses = []
    start = time.perf_counter()
    print()
    for k in range(len(training.losses)):
        losses.append(training.step(k))
        if k % 10 == 0:
            print(f"   step {k:2}   loss {losses[k]:.6f}", flush=True)
    seconds = time.perf_counter() - start
    apart = difference(losses, training.losses), training.weight_difference()
    print(f"   {len(losses)} steps in {seconds:.2f} s; largest difference to PyTorch's losses "
          f"{apart[0]:.1e}, to its final weights {apart[1]:.1e}\n")
    training.close()
    check(apart[0] <= LOSS_TOLERANCE, f"losses differ by at most {LOSS_TOLERANCE}")
    check(apart[1] <= WEIGHT_TOLERANCE, f"final weights differ by at most {WEIGHT_TOLERANCE}")
    held = {k: v for k, v in d.call("session.get")["account"].items() if v["count"]}
    check(not held, "the session holds no tensor and no graph any more")


def main():
    title("4. Training the network")
    say("The images, the recorded batches and PyTorch's initial weights go to the daemon, in float64. Each "
        "layer is one op.call; grad.backward computes the gradients of the loss; and optim::sgd_ "
        "updates the weights in place.")
    with connect() as d:
        train(d, as_program=False)
    print()
    say(f"Once more, with each step of training as one program of {len(TRAIN)} calls: forward, grad::gradients, "
        "and optim::sgd_.")
    with connect() as d:
        train(d, as_program=True)


main()
