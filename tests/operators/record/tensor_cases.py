"""tensor_cases.py -- writes tests/data/tensor_cases.txt: what PyTorch says about random layouts and dtypes.

    python3 tests/operators/record/tensor_cases.py > tests/data/tensor_cases.txt

Needs PyTorch (written with 1.13.1); the tests need only the file.  A line is a kind and its fields;
a list of numbers is joined by commas, "-" when empty.
"""
import random
import torch

DTYPES = {n: getattr(torch, n) for n in
          "uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bool bfloat16".split()}
NAMES = {v: k for k, v in DTYPES.items()}
rng = random.Random(20261121)


def text(numbers):
    return ",".join(map(str, numbers)) or "-"


def packed(sizes, order):
    """Strides of sizes packed in `order`, innermost first."""
    strides, step = [0] * len(sizes), 1
    for d in order:
        strides[d] = step
        step *= max(sizes[d], 1)
    return strides


def layout(ndim=None, choices=(1, 1, 2, 2, 3, 4, 5), sizes=None):
    """Sizes and strides: packed in some order, then perhaps expanded, stepped or odd where it is free."""
    if sizes is None:
        ndim = rng.choice((0, 1, 2, 3, 4, 4, 5)) if ndim is None else ndim
        sizes = [rng.choice(choices) for _ in range(ndim)]
    n = len(sizes)
    orders = [list(range(n))[::-1]] * 2
    if n == 4:
        orders.append([1, 3, 2, 0])
    if n == 5:
        orders.append([1, 4, 3, 2, 0])
    orders.append(rng.sample(range(n), n))
    strides = packed(sizes, rng.choice(orders))
    for d in range(n):
        what = rng.random()
        if what < .06:
            strides[d] = 0
        elif what < .12:
            strides = [s * 2 if s >= strides[d] else s for s in strides]
        elif what < .3 and sizes[d] == 1:
            strides[d] = rng.choice((0, 1, 2, 7, 60))
    return sizes, strides


def tensor(sizes, strides, dtype=torch.float32):
    return torch.zeros(4096 * 64, dtype=dtype).as_strided(sizes, strides)


def promotions():
    for a in DTYPES:
        for b in DTYPES:
            print("promote", a, b, NAMES[torch.promote_types(DTYPES[a], DTYPES[b])])
            print("can_cast", a, b, int(torch.can_cast(DTYPES[a], DTYPES[b])))


def results(count):
    """Operands are d (with dimensions), z (0-dim) or w (numbers: bool, int64, float64, complex128)."""
    of = torch.result_type
    scalars = {"bool": True, "int64": 3, "float64": 1.5, "complex128": 1j}
    while count:
        kinds = [rng.choice("dzw") for _ in range(2)]
        names = [rng.choice(list(scalars)) if k == "w" else rng.choice(list(DTYPES)) for k in kinds]
        args = [scalars[n] if k == "w" else torch.zeros([2] if k == "d" else [], dtype=DTYPES[n])
                for k, n in zip(kinds, names)]
        if kinds == ["w", "w"]:
            continue
        got = of(*args)
        if got in NAMES: # complex32 is not among ours
            print("result", *(k + n for k, n in zip(kinds, names)), NAMES[got])
            count -= 1


def triples(count):
    """Three tensors: addcmul promotes all of them."""
    while count:
        kinds = [rng.choice("dz") for _ in range(3)]
        names = [rng.choice(list(DTYPES)) for _ in range(3)]
        args = [torch.zeros([2] if k == "d" else [], dtype=DTYPES[n]) for k, n in zip(kinds, names)]
        try:
            got = torch.addcmul(*args).dtype
        except RuntimeError: # no kernel for that dtype
            continue
        if got in NAMES:
            print("result", *(k + n for k, n in zip(kinds, names)), NAMES[got])
            count -= 1


def likes(count):
    for _ in range(count):
        sizes, strides = layout(choices=(0, 1, 1, 2, 3, 4, 5))
        t = tensor(sizes, strides)
        flags = [t.is_contiguous(),
                 t.dim() == 4 and t.is_contiguous(memory_format=torch.channels_last),
                 t.dim() == 5 and t.is_contiguous(memory_format=torch.channels_last_3d)]
        print("like", text(sizes), text(strides), text(torch.empty_like(t).stride()),
              text(map(int, flags)))


def formats(count):
    for _ in range(count):
        ndim = rng.choice((3, 4, 5))
        sizes = [rng.choice((0, 1, 2, 3, 5)) for _ in range(ndim)]
        for f, name, ranks in ((2, "channels_last", (4,)), (3, "channels_last_3d", (5,)),
                               (0, "contiguous_format", (3, 4, 5))):
            if ndim in ranks:
                t = torch.empty(sizes, memory_format=getattr(torch, name))
                print("format", f, text(sizes), text(t.stride()))


def suggestions(count):
    """The format that upsampling gives its output is the one its input suggests."""
    while count:
        sizes, strides = layout(rng.choice((4, 4, 5)))
        t = tensor(sizes, strides)
        last = torch.channels_last if t.dim() == 4 else torch.channels_last_3d
        got = torch.nn.functional.interpolate(t, size=sizes[2:], mode="nearest").stride()
        wanted = torch.empty(sizes, memory_format=last).stride()
        if wanted != torch.empty(sizes).stride():
            print("suggest", text(sizes), text(strides), (2 if t.dim() == 4 else 3) if got == wanted else 0)
            count -= 1


def split(numel):
    """A random shape of numel elements."""
    sizes = []
    while numel > 1:
        f = rng.choice([d for d in range(2, numel + 1) if numel % d == 0])
        sizes.append(f)
        numel //= f
    for _ in range(rng.choice((0, 0, 1, 2))):
        sizes.insert(rng.randint(0, len(sizes)), 1)
    return sizes


def views(count):
    for _ in range(count):
        sizes, strides = layout(choices=(1, 2, 2, 3, 4, 6) if rng.random() < .93 else (0, 1, 2))
        t = tensor(sizes, strides)
        new = split(t.numel()) if t.numel() else [rng.choice((0, 1, 2)) for _ in range(2)] + [0]
        if rng.random() < .1:
            new = sizes
        try:
            print("view", text(sizes), text(strides), text(new), text(t.view(new).stride()))
        except RuntimeError:
            print("view", text(sizes), text(strides), text(new), "none")


def outputs(count):
    """Strides that addition gives its output."""
    for _ in range(count):
        sizes, strides = layout(choices=(0, 1, 2, 3, 4) if rng.random() < .1 else (1, 1, 2, 2, 3, 4))
        other = [1 if rng.random() < .25 else s for s in sizes]
        other = other[rng.choice((0, 0, 0, 1, 2)):]
        pair = [(sizes, strides), layout(sizes=other)]
        if rng.random() < .3:
            pair[1] = pair[0]
        rng.shuffle(pair)
        out = torch.add(*(tensor(*p) for p in pair))
        print("iter", *(text(x) for p in pair for x in p), text(out.shape), text(out.stride()))


promotions()
results(250)
triples(100)
likes(250)
formats(30)
suggestions(150)
views(350)
outputs(400)
