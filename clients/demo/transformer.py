"""transformer.py -- trains a transformer of two layers to predict the next character of the file LICENSE.

The layers are torch.nn.TransformerEncoderLayer's with norm_first, and a mask hides the characters that come later."""

from text_training import BATCH, WINDOW, Training, main, read_text, ref, step

LAYERS, HEADS, WIDTH, RATE = 2, 4, 64, 0.003  # WIDTH: numbers for a character; learning rate
HEAD = WIDTH // HEADS


def norm(as_, x, name):
    return step(as_, "layer_norm", ref(x), [WIDTH], ref(name + ".weight"), ref(name + ".bias"))


def linear(as_, x, name):
    return step(as_, "linear", ref(x), ref(name + ".weight"), ref(name + ".bias"))


def heads(as_, x, index):
    """Return the steps that give each head its part of a list's element: [BATCH, HEADS, WINDOW, HEAD]."""
    return [step(as_ + ".split", "view", ref(x, index), [BATCH, WINDOW, HEADS, HEAD]),
            step(as_, "transpose.int", ref(as_ + ".split"), 1, 2)]


def layer(p, x, out):
    """Return the steps of layer `p` from the value `x` to `out`: attention, then two linear layers, each added to
    what it got."""
    return [
        norm(p + "n1", x, p + "norm1"),
        linear(p + "qkv", p + "n1", p + "attention"),
        step(p + "parts", "chunk", ref(p + "qkv"), 3, -1),
        *heads(p + "q", p + "parts", 0), *heads(p + "k", p + "parts", 1), *heads(p + "v", p + "parts", 2),
        step(p + "kt", "transpose.int", ref(p + "k"), -2, -1),
        step(p + "scores", "matmul", ref(p + "q"), ref(p + "kt")),
        step(p + "scaled", "mul.Scalar", ref(p + "scores"), HEAD ** -0.5),
        step(p + "masked", "add.Tensor", ref(p + "scaled"), ref("mask")),
        step(p + "attends", "softmax.int", ref(p + "masked"), -1),
        step(p + "mixed", "matmul", ref(p + "attends"), ref(p + "v")),
        step(p + "turned", "transpose.int", ref(p + "mixed"), 1, 2),
        step(p + "joined", "reshape", ref(p + "turned"), [BATCH, WINDOW, WIDTH]),
        linear(p + "projected", p + "joined", p + "projection"),
        step(p + "middle", "add.Tensor", ref(x), ref(p + "projected")),
        norm(p + "n2", p + "middle", p + "norm2"),
        linear(p + "wide", p + "n2", p + "linear1"),
        step(p + "gelu", "gelu", ref(p + "wide")),
        linear(p + "narrow", p + "gelu", p + "linear2"),
        step(out, "add.Tensor", ref(p + "middle"), ref(p + "narrow")),
    ]


NETWORK = [
    step("characters", "embedding", ref("embedding"), ref("x")),
    step("x0", "add.Tensor", ref("characters"), ref("position")),
    *(s for i in range(LAYERS) for s in layer(f"{i}.", f"x{i}", f"x{i + 1}")),
    norm("normed", f"x{LAYERS}", "norm"),
    linear("logits", "normed", "out"),
]


def parameters():
    """Return {name: (shape, scale)} of the weights."""
    _, characters = read_text()
    wanted = {"embedding": ([characters, WIDTH], 1.0), "position": ([WINDOW, WIDTH], 0.1)}

    def add(name, n_out, n_in):
        wanted[name + ".weight"] = [n_out, n_in], n_in ** -0.5
        wanted[name + ".bias"] = [n_out], 0.0

    def add_norm(name):
        wanted[name + ".weight"] = [WIDTH], None
        wanted[name + ".bias"] = [WIDTH], 0.0

    for i in range(LAYERS):
        add_norm(f"{i}.norm1")
        add(f"{i}.attention", 3 * WIDTH, WIDTH)
        add(f"{i}.projection", WIDTH, WIDTH)
        add_norm(f"{i}.norm2")
        add(f"{i}.linear1", 4 * WIDTH, WIDTH)
        add(f"{i}.linear2", WIDTH, 4 * WIDTH)
    add_norm("norm")
    add("out", characters, WIDTH)
    return wanted


def new(d):
    mask = [[0.0 if column <= row else "-inf" for column in range(WINDOW)] for row in range(WINDOW)]
    return Training(d, parameters(), NETWORK, {"mask": {"data": mask}}, RATE)


if __name__ == "__main__":
    main(new)
