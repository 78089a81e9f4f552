"""transformer.py -- a transformer of two layers learns to reverse sequences."""

import math

import dispatchd as dd

F = dd.nn.functional
WORDS, LENGTH, WIDTH, HEADS, LAYERS = 12, 8, 32, 4, 2


def layer(generator):
    """The weights of a layer: attention, projection, and two of the network behind it."""
    shapes = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)]
    return [(dd.randn(*s, generator=generator) / math.sqrt(s[0])).requires_grad_() for s in shapes]


def attend(x, qkv, out):
    batch = x.shape[0]
    q, k, v = (x @ qkv).view(batch, LENGTH, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4).unbind(0)
    scores = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS), dim=-1)
    return (scores @ v).transpose(1, 2).reshape(batch, LENGTH, WIDTH) @ out


def main():
    g = dd.Generator().manual_seed(2)
    embedding = (dd.randn(WORDS, WIDTH, generator=g) * 0.5).requires_grad_()
    position = (dd.randn(LENGTH, WIDTH, generator=g) * 0.5).requires_grad_()
    layers = [layer(g) for _ in range(LAYERS)]
    head = (dd.randn(WIDTH, WORDS, generator=g) / math.sqrt(WIDTH)).requires_grad_()
    optimizer = dd.optim.AdamW([embedding, position, head, *(w for one in layers for w in one)], lr=3e-3)

    def forward(words):
        x = F.embedding(words, embedding) + position
        for qkv, out, up, down in layers:
            x = x + attend(F.layer_norm(x, [WIDTH]), qkv, out)
            x = x + F.gelu(F.layer_norm(x, [WIDTH]) @ up) @ down
        return x @ head

    @dd.program
    def step(words, wanted):
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(words).flatten(0, 1), wanted.flatten())
        loss.backward()
        optimizer.step()
        return loss

    for k in range(400):
        words = dd.randint(0, WORDS, (64, LENGTH), generator=g)
        loss = step(words, words.flip(1))
        if k % 100 == 0:
            print(f"step {k:3}  loss {loss.item():.4f}")
    words = dd.randint(0, WORDS, (200, LENGTH), generator=g)
    with dd.no_grad():
        right = (forward(words).argmax(-1) == words.flip(1)).float().mean().item()
    print(f"{100 * right:.1f} % of the words are right: {'ok' if right > 0.95 else 'too few'}")


main()
