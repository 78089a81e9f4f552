"""plain.py -- cases of a pointwise operator, from its schema."""

import itertools
import re

import torch

from cases.inputs import MAIN, MORE, b8, f32, f64, i64, layouts, make, pairs, special

# Of whole numbers alone, and where PyTorch has no answer for the extremes.
WHOLE = re.compile("aten::(gcd|lcm|__i?[lr]shift__|bitwise_(left|right)_shift)")


def scalars(dtype):
    yield from (2, -3, 1.5, 0)  # torch.ops takes a bool for an int, torch does not


# What arguments are given that are neither tensors nor Scalars, by name.
GIVEN = {"rounding_mode": "floor", "approximate": "none", "decimals": 2, "n": 2, "p": 2, "dim": 0, "reduction": 0, "eps": 0.25,
         "beta": 0.5, "delta": 0.5, "is_result": False, "self_is_result": False, "alpha": 1.5, "scale": 2, "input_scale": 0.5,
         "negative_slope": 0.25, "threshold": 1, "lambd": 0.5, "min_val": -1, "max_val": 2}


def plain(schema):
    """Cases of a pointwise operator, from its schema."""
    arguments = list(schema.arguments)  # others each time they are asked for
    outs = [a.name for a in arguments if a.kwarg_only and a.alias_info is not None and a.alias_info.is_write]
    tensors = [a for a in arguments if str(a.type) == "Tensor" and a.name not in outs]
    needed = [a for a in arguments if not a.has_default_value() and a.name not in outs
              and str(a.type) not in ("Tensor", "Optional[Tensor]")]
    numbers = [a for a in needed if str(a.type) == "number" and len(tensors) == 1 and "backward" not in schema.name]
    others = {a.name: GIVEN.get(a.name, 2) for a in needed if a.name not in {n.name for n in numbers}}
    alpha = any(a.name == "alpha" and str(a.type) == "number" for a in schema.arguments) and len(tensors) > 1
    order = [a.name for a in schema.arguments]
    if any(name not in GIVEN for name in others):
        return  # not pointwise: compared where CASES has it, and by test_samples.py

    def given(values, options=None):
        """values: of tensors and numbers, in the schema's order"""
        names = [n for n in order if n in {a.name for a in tensors + numbers}]
        kwargs = {**dict(zip(names, values)), **others, **(options or {})}
        args = []
        while order[len(args)] in kwargs and not schema.arguments[len(args)].kwarg_only:
            args.append(kwargs.pop(order[len(args)]))
            if len(args) == len(order):
                break
        if outs:
            shape = torch.broadcast_shapes(*[v.shape for v in values if torch.is_tensor(v)])
            for dtype in (f32, f64, i64, b8):
                yield args, {**kwargs, **{n: torch.zeros(shape, dtype=dtype) for n in outs}}
        else:
            yield args, kwargs

    if len(tensors) == 1 and not numbers:
        for dtype in MORE:
            for x in layouts(dtype):
                yield from given((x,))
    elif len(tensors) == 1:
        first = schema.arguments[0].name == tensors[0].name
        for dtype, x in ((d, x) for d in MAIN for x in (make(d, 3, 4), make(d), special(d), make(d, 4, 3).t())):
            for s in itertools.product(scalars(dtype), repeat=len(numbers)):
                if WHOLE.match(schema.name) and any(isinstance(v, float) or v < 0 for v in s):
                    continue
                yield from given((x, *s) if first else (*s, x))
    elif len(tensors) == 2:
        whole = WHOLE.match(schema.name)
        for a, b in itertools.product(MAIN, MAIN):
            for x, y in pairs(a, b):
                try:
                    torch.broadcast_shapes(x.shape, y.shape)
                except RuntimeError:
                    if outs:
                        continue
                if whole and (a.is_floating_point or b.is_floating_point or x.shape[:1] == (9,) or y.shape[-1:] == (9,)):
                    continue  # PyTorch divides the least integer by -1, and that ends the process
                yield from given((x, y))
        for dtype in (torch.float16, torch.bfloat16, torch.int32, torch.int8, torch.int16):
            for x, y in pairs(dtype, dtype):
                # floors of quotients: 16 bits round some to a whole number
                if not outs and not whole and not (dtype.is_floating_point and re.search("floor_divide|remainder", schema.name)):
                    yield from given((x, y))
        for options in ({"alpha": 2}, {"alpha": 0.5}) if alpha else ():
            for dtype in MAIN:
                yield from given((make(dtype, 3, 4), make(dtype, 4)), options)
    else:
        for dtype in MAIN:
            yield from given((make(dtype, 3, 4), make(dtype, 4), make(dtype, 3, 1)), {"value": 2} if "value" in order else None)
