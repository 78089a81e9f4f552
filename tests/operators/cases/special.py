"""special.py -- special functions whose arguments do not follow from their schemas."""

import torch

from cases.inputs import edges, f32, f64, of, operator
from cases.plain import plain


def degrees(name):
    """Of polynomials: PyTorch takes as many steps as n says, so none between these two is large."""
    for args, kwargs in plain(operator(name)._schema):
        n = args[1]
        if torch.is_tensor(n) and not n.is_floating_point():
            many = n.long()
            args[1] = torch.where((many > 10**5) & (many < 2**62), 33, many).to(n.dtype)
        yield args, kwargs


# -- at the edges --

edges("polygamma special_polygamma", ([n, of(0.5, 1, 1.5, -2, 0, -0.5, dtype=d)] for d in (f32, f64) for n in (0, 1, 20, 2**24 + 1, 2**24 + 2, 2**31 - 2)))

# Not compared, because PyTorch's answer there is not one:
#   polygamma from n = 2^31 - 1 on: its n is an int, so it computes another one; here an error
