"""digits.py -- a network learns to read the digits of tests/data/digits.safetensors, by calls and as one program."""

import os
import time

import dispatchd as dd

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tests", "data", "digits.safetensors")
F = dd.nn.functional


def main():
    data = dd.load(DATA)
    images = data["images"].to(dd.float32).flatten(1) / 16
    labels = data["labels"]
    n, pixels = images.shape
    dd.manual_seed(1)
    weights = [(dd.randn(pixels, 64) / 8).requires_grad_(), dd.zeros(64, requires_grad=True),
               (dd.randn(64, 10) / 8).requires_grad_(), dd.zeros(10, requires_grad=True)]
    optimizer = dd.optim.SGD(weights, lr=0.2, momentum=0.9)

    def forward(x):
        return (x @ weights[0] + weights[1]).relu() @ weights[2] + weights[3]

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(x), y)
        loss.backward()
        optimizer.step()
        return loss

    for name, run in ("by calls", step), ("as one program", dd.program(step)):
        start = time.perf_counter()
        for k in range(100):
            at = k * 64 % (n - 64)
            loss = run(images[at:at + 64], labels[at:at + 64])
        print(f"{name}: loss {loss.item():.4f}, {(time.perf_counter() - start) * 10:.2f} ms a step")
    with dd.no_grad():
        right = (forward(images).argmax(1) == labels).float().mean().item()
    print(f"{100 * right:.1f} % of {n} digits are read rightly: {'ok' if right > 0.95 else 'too few'}")


main()
