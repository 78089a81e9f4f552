"""test_several_outputs.py -- operators with several outputs, one of which has a dtype that they do not
write: all outputs keep their shapes and their elements."""

from harness import equal, main, raises
from daemon import TestDaemon

F, C, I, I32 = "float32", "complex64", "int64", "int32"
M = [[4.0, 1.0], [1.0, 3.0]]
IMAGE = [[[[1.0, 2.0], [3.0, 4.0]]]]
VOLUME = [[[[[1.0, 2.0], [3.0, 4.0]]] * 2]]

# operator: (arguments, lists of numbers being tensors of that dtype; outputs: name, dtype)
OPS = {
    "_linalg_det.result": ([(M, F)], "result", F, "LU", F, "pivots", I32),
    "_linalg_eigh.eigenvalues": ([(M, F)], "eigenvalues", F, "eigenvectors", F),
    "_linalg_slogdet.sign": ([(M, F)], "sign", F, "logabsdet", F, "LU", F, "pivots", I32),
    "_linalg_solve_ex.result": ([(M, F), (M, F)], "result", F, "LU", F, "pivots", I32, "info", I32),
    "_linalg_svd.U": ([(M, F)], "U", F, "S", F, "Vh", F),
    "adaptive_max_pool2d.out": ([(IMAGE, F), [1, 1]], "out", F, "indices", I),
    "adaptive_max_pool3d.out": ([(VOLUME, F), [1, 1, 1]], "out", F, "indices", I),
    "aminmax.out": ([(M, F)], "min", F, "max", F),
    "cummax.out": ([(M, F), 0], "values", F, "indices", I),
    "cummin.out": ([(M, F), 0], "values", F, "indices", I),
    "frexp.Tensor_out": ([(M, F)], "mantissa", F, "exponent", I32),
    "geqrf.a": ([(M, F)], "a", F, "tau", F),
    "histogram.bin_ct_out": ([(M, F), 4], "hist", F, "bin_edges", F),
    "histogram.bins_tensor_out": ([(M, F), ([0.0, 1.0, 3.0], F)], "hist", F, "bin_edges", F),
    "kthvalue.values": ([(M, F), 1], "values", F, "indices", I),
    "linalg_cholesky_ex.L": ([(M, F)], "L", F, "info", I32),
    "linalg_eig.out": ([(M, F)], "eigenvalues", C, "eigenvectors", C),
    "linalg_eigh.eigvals": ([(M, F)], "eigvals", F, "eigvecs", F),
    "linalg_inv_ex.inverse": ([(M, F)], "inverse", F, "info", I32),
    "linalg_ldl_factor.out": ([(M, F)], "LD", F, "pivots", I32),
    "linalg_ldl_factor_ex.out": ([(M, F)], "LD", F, "pivots", I32, "info", I32),
    "linalg_lu.out": ([(M, F)], "P", F, "L", F, "U", F),
    "linalg_lu_factor.out": ([(M, F)], "LU", F, "pivots", I32),
    "linalg_lu_factor_ex.out": ([(M, F)], "LU", F, "pivots", I32, "info", I32),
    "linalg_qr.out": ([(M, F)], "Q", F, "R", F),
    "linalg_slogdet.out": ([(M, F)], "sign", F, "logabsdet", F),
    "linalg_solve_ex.out": ([(M, F), (M, F)], "result", F, "info", I32),
    "linalg_svd.U": ([(M, F)], "U", F, "S", F, "Vh", F),
    "log_sigmoid_forward.output": ([(M, F)], "output", F, "buffer", F),
    "lu_unpack.out": ([(M, F), ([1, 2], I32)], "P", F, "L", F, "U", F),
    "max.dim_max": ([(M, F), 0], "max", F, "max_values", I),
    "max_pool2d_with_indices.out": ([(IMAGE, F), [2, 2]], "out", F, "indices", I),
    "max_pool3d_with_indices.out": ([(VOLUME, F), [2, 2, 2]], "out", F, "indices", I),
    "median.dim_values": ([(M, F), 0], "values", F, "indices", I),
    "min.dim_min": ([(M, F), 0], "min", F, "min_indices", I),
    "mode.values": ([(M, F)], "values", F, "indices", I),
    "multilabel_margin_loss_forward.output": ([(M, F), ([[0, 1], [1, -1]], I), 1], "output", F, "is_target", F),
    "nanmedian.dim_values": ([(M, F), 0], "values", F, "indices", I),
    "nll_loss_forward.output": ([(M, F), ([0, 1], I), None, 1, -100], "output", F, "total_weight", F),
    "qr.Q": ([(M, F)], "Q", F, "R", F),
    "slogdet.out": ([(M, F)], "sign", F, "logabsdet", F),
    "sort.values": ([(M, F)], "values", F, "indices", I),
    "svd.U": ([(M, F)], "U", F, "S", F, "V", F),
    "symeig.e": ([(M, F)], "e", F, "V", F),
    "topk.values": ([(M, F), 1], "values", F, "indices", I),
    "triangular_solve.X": ([(M, F), (M, F)], "X", F, "M", F),
}


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__()
        self.d = self.connect()

    def done(self):
        self.d.close()
        self.finish()

    def tensor(self, data, dtype):
        return {"tensor": self.d.call("tensor.create", data=data, dtype=dtype)["tensor"]}

    def output(self, dtype):
        return self.tensor([[7, 0]] * 5 if dtype == C else [7] * 5, dtype)

    def look(self, t):
        about = self.d.call("tensor.describe", **t)
        return [about[k] for k in ("shape", "strides", "storage_offset")], self.d.call("tensor.read", **t)["data"]


def refuses(f, op, args, outs, wrong):
    """Output `wrong` is of int16."""
    given = {name: f.output("int16" if name == wrong else dtype) for name, dtype in outs.items()}
    before = {name: f.look(t) for name, t in given.items()}
    raises(lambda: f.d.call("op.call", op="aten::" + op, args=args, kwargs=given), "RuntimeError")
    for name, t in given.items():
        equal(f.look(t), before[name], f"{op} with {wrong} of int16: {name}")
    f.d.release(*given.values())


def test_no_output_changes_when_one_is_refused(f):
    for op, (args, *outs) in OPS.items():
        args = [f.tensor(*a) if isinstance(a, tuple) else a for a in args]
        outs = dict(zip(outs[::2], outs[1::2]))
        good = {name: f.output(dtype) for name, dtype in outs.items()}
        f.d.call("op.call", op="aten::" + op, args=args, kwargs=good)
        for wrong in outs:
            refuses(f, op, args, outs, wrong)
        f.d.call("tensor.release", all=True)


main(Fixture, Fixture.done)
