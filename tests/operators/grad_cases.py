"""grad_cases.py -- calls that reach formulas of gradients which neither PyTorch's samples nor the cases of operators do."""

import torch

DRAW = torch.Generator().manual_seed(0)


def some(*shape, low=-2.0, high=2.0):
    return torch.rand(shape, dtype=torch.float64, generator=DRAW) * (high - low) + low


X, Y, UNIT = some(3, 4), some(3, 4), some(3, 4, low=0.1, high=0.9)
PLANES, KERNEL = some(1, 2, 4, 4), some(2, 2, 2, 2)
ROOMS, CUBE = some(1, 2, 3, 3, 3), some(2, 2, 2, 2, 2)
ALL = [True, True, True]

# operator -> arguments of calls
CASES = {
    "silu_backward": [[X, Y]],
    "mish_backward": [[X, Y]],
    "hardsigmoid_backward": [[X, Y]],
    "logit_backward": [[X, UNIT], [X, UNIT, 0.2]],
    "glu_backward": [[some(3, 2), X, 1], [some(3, 2), X, -1]],
    "igamma": [[UNIT, some(3, 4, low=0.5, high=3)]],
    "igammac": [[UNIT, some(3, 4, low=0.5, high=3)]],
    "special_zeta": [[some(3, 4, low=2, high=4), UNIT]],
    "_stack": [[[X, Y], 1]],
    "_convolution": [[PLANES, KERNEL, some(2), [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, False, False],
                     [PLANES, KERNEL, None, [2, 2], [0, 0], [1, 1], True, [1, 1], 1, False, False, False, False]],
    "slow_conv3d_forward": [[ROOMS, CUBE, [2, 2, 2], some(2), [1, 1, 1], [1, 1, 1]]],
    "slow_conv_transpose2d": [[PLANES, KERNEL, [2, 2], some(2), [2, 2], [1, 1], [1, 1], [1, 1]]],
    "slow_conv_transpose3d": [[ROOMS, CUBE, [2, 2, 2], some(2), [2, 2, 2], [1, 1, 1], [1, 1, 1], [1, 1, 1]]],
    "slow_conv_dilated2d": [[PLANES, KERNEL, [2, 2], some(2), [1, 1], [1, 1], [2, 2]]],
    "slow_conv_dilated3d": [[ROOMS, CUBE, [2, 2, 2], some(2), [1, 1, 1], [1, 1, 1], [2, 2, 2]]],
    "_slow_conv2d_forward": [[PLANES, KERNEL, [2, 2], some(2), [1, 1], [1, 1]]],
    "_slow_conv2d_backward.output_mask": [[some(1, 2, 3, 3), PLANES, KERNEL, [2, 2], [1, 1], [0, 0], ALL]],
    "convolution_backward": [[some(1, 2, 3, 3), PLANES, KERNEL, [2], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, ALL],
                             [some(1, 2, 5, 5), PLANES, KERNEL, [2], [1, 1], [0, 0], [1, 1], True, [0, 0], 1, ALL],
                             [some(1, 2, 3, 3), PLANES, some(2, 1, 2, 2), [2], [1, 1], [0, 0], [1, 1], False, [0, 0], 2, ALL]],
    "col2im": [[some(1, 8, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1]]],
    "avg_pool3d": [[ROOMS, [2, 2, 2], [1, 1, 1], [1, 1, 1], False, False, None]],
    "avg_pool3d_backward": [[some(1, 2, 4, 4, 4), ROOMS, [2, 2, 2], [1, 1, 1], [1, 1, 1], False, False, None]],
    "aminmax": [[X]],
    "narrow_copy": [[X, 1, 1, 2]],
    "native_channel_shuffle": [[some(1, 4, 2, 2), 2]],
}
