"""shape.py -- views, copies of views, joining, splitting, turning, what is known of tensors."""

import functools
import itertools

import torch

from cases.inputs import (ALL, BITS, CASES, MAIN, MORE, b8, c64, case, edges, f32, f64, i32, i64, layouts, layouts_of,
                          make, none, of, of_all, operator, outs_of, shaped, some, u8, upto, viewed, with_args,
                          with_out)

CASES["detach"] = CASES["alias"] = CASES["positive"] = lambda: (((x,), {}) for d in MAIN if d is not b8 for x in layouts(d))
CASES["_local_scalar_dense"] = CASES["item"] = lambda: (((make(d, *s),), {}) for d in MORE for s in ((), (1,), (1, 1), (2,)))

CASES["as_strided"] = with_args(([2], [1]), ([2, 2], [1, 1]), ([2], [1], 1), ([100], [1]), ([2], [-1]), ([2, 2], [1]), ([], []))
CASES["view"] = CASES["reshape"] = CASES["_unsafe_view"] = with_args(
    ([-1],), ([6],), ([2, 3],), ([4, 6],), ([2, -1],), ([-1, -1],), ([1],), ([],), ([5],), ([-2],), ([3, -1, 2],), ([0, -1],))
CASES["_reshape_alias"] = lambda: (((make(f32, 6), *a), {}) for a in (([2, 3], [3, 1]), ([2, 1], [1, 1]), ([], []), ([2], [1, 1])))
CASES["reshape_as"] = CASES["view_as"] = lambda: (((make(f32, 2, 3), make(f32, *s)), {}) for s in ((6,), (3, 2), (4,)))
CASES["permute"] = with_args(([0],), ([],), ([2, 0, 1],), ([1, 0],), ([-1, 0, 1],), ([0, 0, 1],), ([3, 0, 1],))
CASES["transpose.int"] = with_args((0, 1), (0, -1), (-2, 0), (3, 0), (0, 0))
CASES["t"] = CASES["squeeze"] = with_args(())
CASES["squeeze.dim"] = CASES["unsqueeze"] = with_args((0,), (1,), (-1,), (-2,), (3,), (4,), (-5,))
CASES["expand"] = with_args(([1, 1],), ([1],), ([2, 1, 3],), ([2, 3, 4],), ([3, 5, 2],), ([-1, 6],), ([4],), ([2, 0, 3],), ([-1, -1],), ([5, -1],), ([7, 4],))
CASES["broadcast_to"] = with_args(([1, 1],), ([2, 1],), ([2, 3, 4],), ([4],), ([7, 4],))
CASES["expand_as"] = lambda: (((make(f32, 3, 1), make(f32, *s)), {}) for s in ((3, 4), (2, 3, 4), (4, 4)))
CASES["flatten.using_ints"] = with_args((), (0, 0), (0, 1), (1, 2), (-2, -1), (1, 0), (0, 5))
CASES["unflatten.int"] = lambda: itertools.chain(unflattened(), (((make(f32, *s), *a), {}) for s, a in (
    ((0, 3, 2), (1, [5, 1, 1])), ((3, 0), (0, [-1])), ((0, 4), (1, [2, -1])), ((0, 4), (0, [0, 7])), ((0,), (0, [-1, 0])))))
unflattened = with_args((0, [2, 1]), (0, [3, 2]), (-1, [2, -1]), (0, []), (7, [2]))
CASES["slice.Tensor"] = with_args((), (0, 1), (0, 1, 2), (1, None, 2), (-1, -2, None), (0, 5, 1), (0, 0, 100, 2), (0, 0, 3, 0),
                                  (9, 0), (0, -100, 100, 2**40))
CASES["select.int"] = with_args((0, 0), (0, -1), (1, 2), (-1, 1), (0, 9), (5, 0))
CASES["narrow"] = with_args((0, 0, 1), (1, 1, 2), (-1, 0, 0), (0, 5, 3), (0, -1, 1), (0, 0, -1), (0, 1, 9))
CASES["movedim.int"] = with_args((0, 1), (0, -1), (2, 0), (3, 0))
CASES["movedim.intlist"] = with_args(([0, 1], [1, 2]), ([0], [-1]), ([0, 1], [0]), ([0, 0], [1, 2]), ([2, 0], [0, 1]), ([], []))
CASES["split.Tensor"] = with_args((1,), (2, 0), (2, -1), (4, 1), (0,), (-1,), (100, 0))
CASES["split_with_sizes"] = with_args(([1, 1],), ([2, 1], 1), ([1, 2], -2), ([-1, 3],), ([6],), ([2, 4],))
CASES["chunk"] = with_args((1,), (2, 0), (3, -1), (100, 0), (0,), (2, 1))
CASES["unbind.int"] = with_args((), (1,), (-1,), (4,))
CASES["diagonal"] = with_args((), (1,), (-1, 0, 2), (0, -1, 0), (0, 1, 1), (9, 0, 1), (-9, 0, 1), (0, 0, 7))
CASES["unfold"] = with_args((0, 1, 1), (0, 2, 1), (1, 2, 2), (-1, 2, 1), (0, 9, 1), (0, 1, 0), (0, 0, 1))

CASES["flip"] = of_all(([0],), ([0, 1],), ([-1],), ([],), ([0, 0],), ([0, -5],), ([2, 0],))
CASES["roll"] = of_all(([1], [0]), ([-1], [0]), ([1],), ([5, -7], [0, 1]), ([2**62], [0]), ([], []), ([1, 2], [0]))
CASES["rot90"] = of_all((), (2,), (3, [0, 1]), (-1, [1, 0]), (1, [0, 0]), (1, [0]), (4, [0, -1]), (1, [0, 7]))
CASES["tril"] = CASES["triu"] = CASES["tril_"] = CASES["triu_"] = of_all((), (1,), (-1,), (100,), (-100,), (2**60,), (-2**60,))
CASES["tril.out"] = CASES["triu.out"] = with_out(of_all((), (1,)))
CASES["diag"] = of_all((), (1,), (-1,), (3,))
CASES["diag.out"] = with_out(of_all((), (1,)))
CASES["diag_embed"] = of_all((), (1,), (-2, 0, 1), (0, -1, 0), (0, 0, 0), (0, 0, 9))
CASES["trace"] = lambda: (((make(d, *s),), {}) for d in ALL if not d.is_complex for s in ((3, 4), (0, 2), (4,), ()))
CASES["constant_pad_nd"] = of_all(([1, 2],), ([1, 0, 0, 1], 3), ([-1, 0],), ([-1, 2],), ([0, 0],), ([1],), ([-9, 2],),
                                  ([1] * 10,), ([2**62, 2**62],))
CASES["narrow_copy"] = CASES["narrow"]
CASES["block_diag"] = lambda: ((([make(a, 2, 3), make(b), make(b, 4), make(a, 0)],), {}) for a in MAIN for b in MAIN)
CASES["slice_scatter"] = lambda: (((make(d, 4, 3), make(e, *s), 0, *a), {}) for d in MAIN for e in (d, f32)
                                  for s, a in (((2, 3), (1, 3)), ((2, 3), (0, 4, 2)), ((1, 3), (0, 2)), ((4, 3), ())))
CASES["select_scatter"] = lambda: (((make(d, 4, 3), make(e, *s), *a), {}) for d in MAIN for e in (d, f32)
                                   for s, a in (((3,), (0, 1)), ((4,), (1, -1)), ((4,), (0, 1)), ((3,), (0, 9))))
CASES["diagonal_scatter"] = lambda: (((make(d, 4, 3), make(e, s), *a), {}) for d in MAIN for e in (d, f32)
                                     for s, a in ((3, ()), (2, (1,)), (3, (1,)), (3, (0, 1, 0))))
CASES["as_strided_scatter"] = lambda: (((x, make(x.dtype, *s), s, *a), {}) for d in MAIN for x in (make(d, 4, 3), make(d, 3, 4).t())
                                       for s, a in (([2, 2], ([1, 2],)), ([3], ([2], 1)), ([2, 2], ([100, 1],))))
CASES["pixel_shuffle"] = lambda: (((x, r), {}) for d in ALL for r in (1, 2, 0, 3, -1)
                                  for x in (make(d, 2, 8, 3, 2), make(d, 4, 1, 1), make(d, 2, 8), make(d, 0, 4, 2, 2),
                                            make(d, 1, 8, 3, 2).to(memory_format=torch.channels_last)))
CASES["pixel_unshuffle"] = lambda: (((x, r), {}) for d in ALL for r in (1, 2, 0, 3)
                                    for x in (make(d, 2, 2, 6, 4), make(d, 4, 2, 2), make(d, 2, 8), make(d, 2, 1, 3, 4)))

# -- a tensor's own sizes --

CASES["squeeze_"] = CASES["t_"] = with_args(())
CASES["squeeze_.dim"] = CASES["unsqueeze_"] = CASES["squeeze.dim"]
CASES["transpose_"] = CASES["transpose.int"]
CASES["as_strided_"] = CASES["as_strided"]
CASES["resize_"] = lambda: (((x, s), k) for x in viewed() for s, k in (
    ([2, 2], {}), ([0], {}), ([], {}), ([1, 2, 1, 1], {"memory_format": torch.channels_last}), ([-1], {}), ([2], {"memory_format": torch.channels_last})) if x.numel() >= 4 and x.stride() != (0,))
CASES["resize_as_"] = lambda: (((make(f32, 4), make(f32, *s)), {}) for s in ((2, 2), (4,), (0,), ()))
CASES["set_"] = with_args(())
CASES["set_.source_Tensor"] = lambda: (((make(f32, 4), x), {}) for x in (make(f32, 3, 2).t(), make(f32), make(f32, 0)))


# -- the same bytes, seen otherwise --

def complexes():
    return [make(d, *shape) for d in (torch.complex64, torch.complex128) for shape in ((3, 4), (), (0, 2), (2, 3, 2))] + [
        make(torch.complex64, 4, 3).t(), make(torch.complex64, 6, 5)[1::2, ::3], make(torch.complex64, 1).expand(3)]


CASES["_conj"] = CASES["view_as_real"] = lambda: (((x,), {}) for x in complexes())
CASES["_neg_view"] = lambda: (((x,), {}) for x in [make(d, 3, 4) for d in ALL if d is not b8] + complexes())
CASES["conj"] = CASES["_conj_physical"] = CASES["conj_physical"] = CASES["conj_physical_"] = CASES["real"] = CASES["imag"] = \
    CASES["resolve_conj"] = CASES["resolve_neg"] = lambda: (((x,), {}) for x in complexes() + viewed()
                                                            if x.is_complex() or x.is_contiguous())
CASES["conj_physical.out"] = lambda: (((x,), {"out": o}) for x in complexes() for o in (
    torch.zeros(0, dtype=x.dtype), torch.zeros(2, 2, dtype=x.dtype), torch.zeros_like(x, memory_format=torch.contiguous_format)))
CASES["view_as_complex"] = lambda: (((x,), {}) for d in (f32, f64, i64) for x in (
    make(d, 3, 2), make(d, 2), make(d), make(d, 3, 3), make(d, 0, 2), make(d, 2, 3).t(), make(d, 4, 5, 2)[::2, 1::2], make(d, 3)[1:],
    make(d, 3, 3)[:, :2], make(d, 3, 4)[:, 1:3]))
CASES["view.dtype"] = lambda: (((x, d), {}) for d in ALL if d is not b8 for x in [make(e, *s) for e in (f32, u8, i64, torch.complex64)
                               for s in ((3, 4), (), (0, 8), (16,))] + [make(f32, 8, 16)[:, ::2], make(f32, 8, 16)[1:, 2:10], make(f64, 4, 4).t()])


# -- joining and indexing --

@case("cat")
def joined(last=torch.channels_last):
    for dtype in MORE:
        for dim in (0, 1, -1, 2, 5):
            yield ([make(dtype, 2, 3), make(dtype, 2, 3), make(dtype, 3, 2).t()], dim), {}
    for dim in (0, 1):
        yield ([make(f32, 2, 3), make(i64, 2, 3), make(f64, 2, 3)], dim), {}
        yield ([make(u8, 2, 3), make(b8, 2, 3)], dim), {}
        yield ([make(f32, 2, 3), make(f32, 4, 3)], dim), {}
        yield ([make(f32, 2, 3), make(f32, 2, 3, 1)], dim), {}
        yield ([make(f32, 0), make(f32, 2, 3)], dim), {}
        yield ([make(f32, 0), make(f32, 0)], dim), {}
        yield ([make(f32, 2, 3, 4, 5).contiguous(memory_format=last)] * 2, dim), {}
        yield ([make(f32, 2, 3, 4, 5).contiguous(memory_format=last), make(f32, 2, 3, 4, 5)], dim), {}
    yield ([make(f32), make(f32)],), {}
    yield ([],), {}


CASES["stack"] = lambda: joined(torch.channels_last)
CASES["repeat"] = lambda: (((x, r), {}) for d in MAIN for x in layouts(d) if 0 < x.numel() < 1000 for r in
                           ([2], [1, 2], [2, 1, 3], [0, 2], [-1, 2, 1], [2, 2, 1, 3], []))


# -- copies of views --

def copied(view, *outs):
    """The view's cases; out= of the shape that it gives, of another dtype, and of no such shape."""
    for args, kwargs in some(25, CASES[view] if view in CASES else with_args(()))():
        if not outs:
            yield args, kwargs
            continue
        try:
            made = operator(view)(*args, **kwargs)
        except (RuntimeError, IndexError):
            continue
        many = isinstance(made, (list, tuple))
        for d in (args[0].dtype, f64):
            o = [torch.zeros(m.shape, dtype=d if not m.is_complex() else m.dtype) for m in (made if many else [made])]
            yield args, {**kwargs, "out": o if many else o[0]}


for _view in ("alias as_strided detach diagonal expand permute select.int slice.Tensor split.Tensor split_with_sizes squeeze squeeze.dim t transpose.int unbind.int unfold "
              "unsqueeze view_as_complex view_as_real view view.dtype _conj _neg_view _reshape_alias").split():
    _base, _, _over = _view.partition(".")
    CASES[_base + "_copy" + ("." + _over if _over else "")] = lambda view=_view: copied(view)
    CASES[_base + "_copy." + (_over + "_out" if _over else "out")] = lambda view=_view: copied(view, True)

# -- lists of tensors --

CASES["tensor_split.sections"] = with_args((1,), (2, 0), (3, -1), (7, 1), (0,), (-1,), (2, 5))
CASES["tensor_split.indices"] = with_args(([1],), ([0, 1], -1), ([], 0), ([2, 1, 9], 1), ([-1, 2],), ([1], 5))
CASES["tensor_split.tensor_indices_or_sections"] = with_args((torch.tensor(2),), (torch.tensor([1, 2]), -1), (torch.tensor([1, 2, 3, 4])[::2], 0),
                                                             (torch.tensor([[1]]),), (torch.tensor(2.0),), (torch.tensor(0),))
CASES["hsplit.int"] = CASES["vsplit.int"] = CASES["dsplit.int"] = with_args((1,), (2,), (3,), (0,), (-2,))
CASES["hsplit.array"] = CASES["vsplit.array"] = CASES["dsplit.array"] = with_args(([1],), ([0, 2],), ([],))
CASES["unsafe_split.Tensor"], CASES["unsafe_split_with_sizes"], CASES["unsafe_chunk"] = CASES["split.Tensor"], CASES["split_with_sizes"], CASES["chunk"]
CASES["split.sizes"] = CASES["split_with_sizes"]
CASES["atleast_1d"] = CASES["atleast_2d"] = CASES["atleast_3d"] = with_args(())
CASES["atleast_1d.Sequence"] = CASES["atleast_2d.Sequence"] = CASES["atleast_3d.Sequence"] = lambda: (((x,), {}) for x in (viewed(), [], [make(f32)]))


def stacked():
    return [[make(f32, 3), make(f32, 3)], [make(f32, 2, 3), make(f32, 2, 3)], [make(f32), make(i64)], [make(f32, 2, 3, 4), make(f64, 2, 3, 4)], [make(f32, 2), make(f32, 3)],
            [make(f32, 2), make(f32, 2, 3)], [], [make(f32, 2, 1), make(f32, 2)], [make(b8, 0)], [make(f32, 4, 3).t(), make(f32, 3, 4)]]


for _name in ("hstack", "vstack", "dstack", "column_stack", "row_stack"):
    CASES[_name] = lambda: (((x,), {}) for x in stacked())
    CASES[_name + ".out"] = lambda: (((x,), {"out": torch.zeros(s, dtype=d)}) for x in stacked() for s in ((0,), (4, 3)) for d in (f32, i64))
CASES["concat"] = CASES["concatenate"] = lambda: (((x, d), {}) for x in stacked() for d in (0, 1))
CASES["concat.out"] = CASES["concatenate.out"] = lambda: (((x, d), {"out": torch.zeros(0, dtype=e)}) for x in stacked() for d in (0, 1) for e in (f32, i64))
CASES["broadcast_tensors"] = lambda: (((x,), {}) for x in (stacked() + [[make(f32, 3, 1), make(i64, 4), make(f32)]]))
CASES["meshgrid"] = lambda: (((x,), {}) for x in stacked() + [[make(f32, 2), make(f32, 3), make(f32)], [make(f32, 6)[::2], make(f32, 1)]])
CASES["meshgrid.indexing"] = lambda: (((x[0],), {"indexing": i}) for x, _ in CASES["meshgrid"]() for i in ("ij", "xy", "yx"))
CASES["flatten_dense_tensors"] = lambda: (((x,), {}) for x in stacked() + [[make(f32, 4, 3).t()]])
CASES["unflatten_dense_tensors"] = lambda: (((make(f32, n), x), {}) for n in (6, 12, 48) for x in stacked())

for _name in "numpy_T mT mH adjoint matrix_H fliplr flipud ravel nonzero_numpy where argwhere".split():
    CASES[_name] = lambda: (((x,), {}) for x in viewed() + [make(f32, 3, 4), make(torch.complex64, 2, 3), make(torch.complex64)])
CASES["diagflat"] = with_args((), (1,), (-2,))
CASES["tile"] = with_args(([2],), ([2, 1, 3],), ([],), ([2, 2, 1, 2],), ([0],), ([-1],))
CASES["narrow.Tensor"] = with_args((0, torch.tensor(1), 1), (-1, torch.tensor(0), 2), (0, torch.tensor([1]), 1), (0, torch.tensor(1.5), 1))
CASES["fill_diagonal_"] = lambda: (((x, v, w), {}) for x in (make(f32, 3, 4), make(f32, 9, 3), make(i64, 4, 3).t(), make(f32, 3, 3, 3), make(f32, 3, 4, 3), make(f32, 3), make(f32, 8, 9)[::2, ::3],
                                                             make(f32, 0, 3)) for v in (2, 1.5) for w in (False, True) if x.dtype is f32 or v == 2)
CASES["sum_to_size"] = with_args(([1],), ([],), ([3, 4],), ([1, 1],), ([2, 1, 4],), ([4],), ([3, 1],), ([6],), ([5],), ([1, 2, 3, 4],))
CASES["swapaxes"] = CASES["swapdims"] = CASES["swapaxes_"] = CASES["swapdims_"] = CASES["transpose.int"]
CASES["moveaxis.int"], CASES["moveaxis.intlist"] = CASES["movedim.int"], CASES["movedim.intlist"]
CASES["cat.out"] = lambda: (((t, d), {"out": o}) for e in MAIN for t in ([make(e, 2, 3), make(e, 2, 3)], [make(e, 3, 2).t(), make(f32, 2, 3)], [make(e, 0), make(e, 2, 3)])
                            for d in (0, 1) for o in (torch.zeros(0, dtype=e), torch.zeros(4, 3, dtype=e), torch.zeros(8, 6, dtype=e)[::2, ::2], torch.zeros(0), t[0],
                                                      torch.zeros(1, dtype=e).expand(4, 3)))
# PyTorch reads the first of no tensors, and writes as if out= were contiguous: that ends the process.
CASES["_stack"], CASES["_stack.out"] = (lambda name=name: ((a, k) for a, k in CASES[name]() if a[0]) for name in ("stack", "stack.out"))
CASES["narrow_copy.out"] = lambda: ((a, k) for a, k in outs_of("narrow_copy") if k["out"].is_contiguous())

CASES["_version"] = CASES["data"] = CASES["is_pinned"] = CASES["is_inference"] = CASES["is_distributed"] = CASES["_is_zerotensor"] = shaped(())
CASES["_debug_has_internal_overlap"] = CASES["lift_fresh_copy"] = CASES["_assert_async"] = shaped(())
CASES["detach_"] = list  # arguments here are views, which it refuses: tests/integration/operators/test_facts.py has it
CASES["is_set_to"] = CASES["_has_same_storage_numel"] = CASES["_has_compatible_shallow_copy_type"] = lambda: (
    ((x, y), {}) for x in layouts_of(f32) for y in (make(f32, 3, 4), make(f32, 0, 3)))
CASES["_assert_tensor_metadata"] = shaped((), ([3, 4],), (None, [4, 1]), (None, None, f32), ([3, 4], [4, 1], f32), ([3],))
CASES["set_.source_Tensor_storage_offset"] = lambda: (((make(f32, 4), make(f32, 3, 4), *a), {}) for a in (
    (1, [2, 2], [1, 1]), (0, [3, 4]), (5, []), (-1, [2]), (0, [2], [1, 1]), (0, [-2]), (0, [2], [-1])))
CASES["_new_zeros_with_same_feature_meta"] = lambda: (((make(f32, 2, 3), y), {"self_num_batch_dims": n})
                                                      for y in layouts_of(f32) + [make(i64, 4, 5)[1:, ::2]] for n in (0, 1, 2))
CASES["to_dense"] = shaped((), (f64,), (i64,))
CASES["_autocast_to_full_precision"] = shaped((False, True), (True, False))
CASES["_autocast_to_reduced_precision"] = shaped((False, True, torch.float16, torch.bfloat16), (True, False, torch.float16, torch.bfloat16))
CASES["_dim_arange"] = shaped((0,), (-1,), (2,))
CASES["_reshape_from_tensor"] = lambda: (((make(f32, 3, 4), torch.tensor(s, dtype=d)), {}) for s, d in (
    ([4, 3], i64), ([-1], i64), ([5], i64), ([4, 3], i32), ([[4, 3]], i64)))
CASES["_to_cpu"] = lambda: [(([make(f32, 3), make(i64, 2, 2).t()],), {}), (([],), {})]
CASES["stack.out"] = functools.partial(outs_of, "stack")

CASES["channel_shuffle"] = lambda: (((x, g), {}) for d in (f32, i64, torch.complex64) for x in (
    make(d, 2, 6, 4), make(d, 2, 6, 4, 3).contiguous(memory_format=torch.channels_last), make(d, 0, 6, 2), make(d, 2, 6))
    for g in (1, 2, 3, 4, 0))
CASES["native_channel_shuffle"] = lambda: ((a, k) for a, k in CASES["channel_shuffle"]() if a[1] in (1, 2, 3) and a[0].dim() > 2 and a[0].numel())  # PyTorch dies of others
CASES["unfold_backward"] = lambda: (((make(d, 2, (9 - size) // step + 1, 3, size), [2, 9, 3], 1, size, step), {}) for d in (f32, f64, i64, c64, torch.bfloat16)
                                    for size, step in ((3, 1), (3, 2), (2, 3), (1, 1), (9, 1)))


# -- at the edges --

edges("tril triu", [[none(0, dtype=d), k] for d in (f32, i64) for k in (-1, 0, 3)] + [[none(s), 0] for s in (1, 3)] + [[of(1.0), 0]])
edges("narrow_copy", ([upto(3, 2), d, s, n] for d, s, n in ((0, 2, 2), (0, -1, 1), (0, 0, -1), (5, 0, 1), (0, 4, 0), (0, -5, 1), (0, 1, 2))))
edges("constant_pad_nd", ([torch.ones(*s), p] for s, p in (((2,), [0, -2]), ((2,), [0, -3]), ((2,), [-1, -1]), ((2,), [1, -3]), ((2, 2), [1, 0, 0, -2]), ((2, 2), [-2, 0, -1, 0]))))
edges("pixel_unshuffle", ([none(*s), 2] for s in ((0, 1, 6, 8), (0, 2, 4), (8, 6, 0, 4))))
edges("resolve_neg", ([t] for t in BITS))
edges("resolve_conj", ([t] for t in BITS if t.is_complex()))
# one tensor as two outputs: the last one is what it holds
edges("split_copy.Tensor_out", (([upto(5, 2), 2], {"out": [none(0), o, o]}) for o in (none(0), none(2, 3))))

# Not compared, because PyTorch's answer there is not one:
#   tril, triu near 2^63: its sums wrap
