"""char_lstm.py -- trains an LSTM to predict the next character of the file LICENSE (torch.nn.LSTM)."""

from text_training import BATCH, Training, main, read_text, ref, step

CHARACTER, HIDDEN, RATE = 32, 64, 0.01  # numbers for a character and for the state; learning rate

NETWORK = [
    step("characters", "embedding", ref("embedding"), ref("x")),
    # outputs of all characters, and the last state, which is not used
    step(["hidden", None, None], "lstm.input", ref("characters"), [ref("zeros"), ref("zeros")],
         [ref("lstm.weight_ih"), ref("lstm.weight_hh"), ref("lstm.bias_ih"), ref("lstm.bias_hh")],
         True, 1, 0.0, True, False, True),
    step("logits", "linear", ref("hidden"), ref("out.weight"), ref("out.bias")),
]


def parameters():
    """Return {name: (shape, scale)} of the weights."""
    _, characters = read_text()
    return {"embedding": ([characters, CHARACTER], 1.0),
            "lstm.weight_ih": ([4 * HIDDEN, CHARACTER], 0.1), "lstm.weight_hh": ([4 * HIDDEN, HIDDEN], 0.1),
            "lstm.bias_ih": ([4 * HIDDEN], 0.1), "lstm.bias_hh": ([4 * HIDDEN], 0.1),
            "out.weight": ([characters, HIDDEN], 0.1), "out.bias": ([characters], 0.1)}


def new(d):
    zeros = {"dtype": "float32", "shape": [1, BATCH, HIDDEN], "attachment": bytes(4 * BATCH * HIDDEN)}
    return Training(d, parameters(), NETWORK, {"zeros": zeros}, RATE)


if __name__ == "__main__":
    main(new)
