"""test_train_text.py -- the examples that train an LSTM and a transformer on a text learn, and have the losses that PyTorch
has from the same weights."""

import os
import subprocess
import sys

from harness import ROOT, equal, less, main
from daemon import TestDaemon

sys.path.insert(0, os.path.join(ROOT, "clients", "demo"))
import char_lstm
import digits
import text_training
import transformer

try:
    import torch
except ImportError:
    torch = None

CURVE = 1e-3  # largest difference to PyTorch's losses, float32
LAST = {char_lstm: 1.0, transformer: 1.4}  # the last loss is below this


def torch_lstm(w, x):
    F = torch.nn.functional
    zeros = torch.zeros(1, text_training.BATCH, char_lstm.HIDDEN)
    hidden, _, _ = torch.lstm(F.embedding(x, w["embedding"]), [zeros, zeros],
                              [w["lstm." + name] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")],
                              True, 1, 0.0, True, False, True)
    return F.linear(hidden, w["out.weight"], w["out.bias"])


def torch_transformer(w, x):
    F = torch.nn.functional
    sizes = [text_training.BATCH, text_training.WINDOW, transformer.HEADS, transformer.HEAD]
    mask = torch.full([text_training.WINDOW] * 2, float("-inf")).triu(1)

    def norm(x, name):
        return F.layer_norm(x, [transformer.WIDTH], w[name + ".weight"], w[name + ".bias"])

    def linear(x, name):
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])

    x = F.embedding(x, w["embedding"]) + w["position"]
    for i in range(transformer.LAYERS):
        q, k, v = (part.view(sizes).transpose(1, 2) for part in linear(norm(x, f"{i}.norm1"), f"{i}.attention").chunk(3, -1))
        attends = (q @ k.transpose(-2, -1) * transformer.HEAD ** -0.5 + mask).softmax(-1)
        x = x + linear((attends @ v).transpose(1, 2).reshape(x.shape), f"{i}.projection")
        x = x + linear(F.gelu(linear(norm(x, f"{i}.norm2"), f"{i}.linear1")), f"{i}.linear2")
    return linear(norm(x, "norm"), "out")


NETWORKS = {char_lstm: torch_lstm, transformer: torch_transformer}


def torch_losses(module, weights, batches):
    """The losses of the same training in PyTorch, from the same weights and batches."""
    text = torch.tensor(text_training.read_text()[0])
    weights = {name: t.clone().requires_grad_() for name, t in weights.items()}
    adam = torch.optim.Adam(weights.values(), lr=module.RATE)
    losses = []
    for rows in batches:
        window = torch.stack([text[row:row + text_training.WINDOW + 1] for row in rows])
        logits = NETWORKS[module](weights, window[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return losses


def as_torch(d, tensor):
    answer = d.call("tensor.read", tensor=tensor["tensor"], **{"as": "attachment"})
    return torch.frombuffer(bytearray(answer["attachment"]), dtype=getattr(torch, answer["dtype"])).reshape(answer["shape"])


def check_text(daemon, module):
    name = module.__name__
    with daemon.connect() as d:
        training = module.new(d)
        if torch:
            weights = {k: as_torch(d, t) for k, t in training.weights.items()}
            batches = as_torch(d, training.inputs["batches"])
        losses = training.losses()
        equal(len(losses), text_training.STEPS, "losses")
        less(losses[-1], LAST[module], f"the last loss of {name}, after {losses[0]} at first, with seed {text_training.SEED}")
        d.call("program.release", program=training.program)
        d.call("tensor.release", all=True)
    if not torch:
        print(f"{name}: PyTorch is not installed, so its curve is skipped")
        return
    theirs = torch_losses(module, weights, batches)
    apart = digits.difference(losses, theirs)
    print(f"{name}: loss {losses[0]:.4f} to {losses[-1]:.4f}, PyTorch's {theirs[0]:.4f} to {theirs[-1]:.4f}, {apart:.1e} apart")
    less(apart, CURVE, f"difference to PyTorch's losses of {name}, ours {losses[-1]} and theirs {theirs[-1]} at the end")


def test_char_lstm(daemon):
    check_text(daemon, char_lstm)


def test_transformer(daemon):
    check_text(daemon, transformer)


def test_the_text_examples_print_their_losses(daemon):
    env = {**os.environ, "DISPATCHD_SOCKET": daemon.socket}
    for module in NETWORKS:
        done = subprocess.run([sys.executable, module.__file__], env=env, capture_output=True, text=True, timeout=300)
        equal((done.returncode, done.stderr, len(done.stdout.splitlines())), (0, "", 11), module.__name__)
        less(float(done.stdout.split()[-1]), LAST[module], "the last loss that it prints")


main(TestDaemon, TestDaemon.finish)
