"""test_headers.py -- what compilers say about a plugin: nothing about a right one, and an error for a
kernel whose C type is not that of its letters."""

import itertools
import os
import shutil
import subprocess

from harness import BUILD, ROOT, contains, equal, main

COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-pedantic"]
C, CXX = ("gnu11", "c11", "c17"), ("gnu++17", "c++17", "c++20")
KERNEL = """
#include <dispatchd/plugin.h>
DP_PLUGIN(wrong, "1.0")
static int scale(dp_ctx *ctx, %s, %s, %s)
{
    (void)ctx, (void)self, (void)k, (void)out;
    return 0;
}
DP_LIBRARY(wrong, DP_DEF("scale(Tensor self, float k) -> Tensor"))
DP_LIBRARY_IMPL(wrong, CPU, DP_IMPL_UNBOXED("scale", scale, (T, f), (T)))
"""
RIGHT = ["dp_tensor *self", "double k", "dp_tensor **out"]


def compile_(compiler, options, source, language="c"):
    command = [compiler, "-x", language, *options, "-fsyntax-only", "-I",
               os.path.join(ROOT, "libdispatch", "include"), "-"]
    return subprocess.run(command, input=source, text=True, timeout=120, env={**os.environ, "LC_ALL": "C"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def read(*path):
    with open(os.path.join(ROOT, *path)) as f:
        return f.read()


def test_a_right_plugin_compiles_without_a_word():
    for compiler in COMPILERS:
        for source in (read("plugins", "template", "template.c"), read("tests", "plugins", "written.c"),
                       KERNEL % tuple(RIGHT)):
            for standard in C:
                done = compile_(compiler, [f"-std={standard}", *STRICT], source)
                equal((done.returncode, done.stdout), (0, ""), f"{compiler} {standard}")
    for compiler in "g++", "clang++":
        if shutil.which(compiler):
            for file, standard in itertools.product(("in_cxx.cc", "cxx_forms.cc"), CXX):
                done = compile_(compiler, [f"-std={standard}", *STRICT], read("tests", "plugins", file), "c++")
                equal((done.returncode, done.stdout), (0, ""), f"{compiler} {standard} {file}")


def test_the_headers_convert_nothing_silently():
    heads = ("plugin", "program", "half", "isa", "sizes", "typed"), ("dispatch", "program", "half", "sizes", "typed")
    for compiler, language, standard in [(c, "c", s) for c in COMPILERS for s in C] + [("g++", "c++", s) for s in CXX]:
        for names in heads if shutil.which(compiler) else ():
            source = "".join(f"#include <dispatchd/{name}.h>\n" for name in names) + "extern int i;\n"
            source += 'DP_PLUGIN(strict, "1.0")\n' if "plugin" in names else ""
            done = compile_(compiler, [f"-std={standard}", *STRICT, "-Wsign-conversion"], source, language)
            equal((done.returncode, done.stdout), (0, ""), f"{compiler} {standard} {names}")


INVOKE = """
#include <dispatchd/plugin.h>
int f(dp_ctx *ctx, dp_tensor *x, const int64_t *dims, dp_generator *g, dp_tensor **out);
int f(dp_ctx *ctx, dp_tensor *x, const int64_t *dims, dp_generator *g, dp_tensor **out)
{
    int32_t narrow[2] = {0, 1};
    (void)x, (void)dims, (void)g, (void)narrow, (void)out;
    return DP_INVOKE(ctx, "m::f", %s);
}
"""


def compilers_of_both():
    return [(c, "gnu11", "c") for c in COMPILERS] + [(c, "gnu++17", "c++") for c in ("g++", "clang++") if shutil.which(c)]


def test_invoke_of_right_types_compiles_without_a_word():
    for right in ("(T, i, f, b), (T), x, 0, 1, true, out",
                  "(oT, oi, li, olT), (T), NULL, NULL, dims, 2, NULL, 0, out", "(og, s), (), g, dp_int(1)"):
        for compiler, standard, language in compilers_of_both():
            done = compile_(compiler, [f"-std={standard}", *STRICT], INVOKE % right, language)
            equal((done.returncode, done.stdout), (0, ""), f"{compiler} {right}")


def test_invoke_of_a_wrong_type_does_not_compile():
    for wrong, named in (("(T, T), (T), x, dims, out", "dims"), ("(T, i), (T), x, x, out", "x"),
                         ("(T, li), (T), x, narrow, 2, out", "narrow"), ("(T), (T), x, x", "x"),
                         ("(T, s), (T), x, 1, out", None), ("(T, f), (T), x, out, out", None),
                         ("(T), (T), x, x, out", None), ("(T, T), (T), x, out", None)):
        for compiler, standard, language in compilers_of_both():
            done = compile_(compiler, [f"-std={standard}"], INVOKE % wrong, language)
            equal(done.returncode, 1, f"{compiler}'s exit code for '{wrong}': {done.stdout}")
            if named and language == "c":
                contains(done.stdout.replace("\\'", "'"), f"DP_INVOKE: '{named}' is not of the C type of its letter")
    for wrong in "(T, i), (T), x, 1.5, out", "(T, T), (T), x, 0, out", "(T, b), (T), x, x, out":
        for compiler in COMPILERS:
            equal(compile_(compiler, ["-std=gnu11"], INVOKE % wrong).returncode, 1, f"{compiler}: {wrong}")


def test_functions_of_all_operators_compile_without_a_word():
    for head in "plugin.h", "dispatch.h":
        source = f"#include <dispatchd/{head}>\n#include <dispatchd/typed.h>\n#include <dispatchd/aten.h>\nextern int i;\n"
        own = ["-I", os.path.join(BUILD, "gen"), *STRICT]
        for compiler, language, standard in [(c, "c", "gnu11") for c in COMPILERS] + [("g++", "c++", "gnu++17")]:
            done = compile_(compiler, [f"-std={standard}", *own], source, language)
            equal((done.returncode, done.stdout), (0, ""), f"{compiler} {head}")
    done = compile_("gcc", ["-I", os.path.join(BUILD, "gen")], "#include <dispatchd/aten.h>\n")
    contains(done.stdout, "include dispatchd/plugin.h or dispatchd/dispatch.h before")


def test_a_kernel_of_another_type_than_its_letters_does_not_compile():
    for i, wrong in (1, "float k"), (1, "int k"), (0, "dp_value self"), (2, "double *out"):
        source = KERNEL % tuple(RIGHT[:i] + [wrong] + RIGHT[i + 1:])
        for compiler in COMPILERS:
            done = compile_(compiler, ["-std=gnu11"], source)
            equal(done.returncode, 1, f"{compiler}'s exit code for '{wrong}': {done.stdout}")
            contains(done.stdout.replace("\\'", "'"), "kernel 'scale': its C type is not what its letters Tf>T stand for")
        done = compile_("g++", ["-std=gnu++17"], source, "c++")
        equal(done.returncode, 1, f"g++'s exit code for '{wrong}': {done.stdout}")


def test_a_wrong_kernel_of_cxx_is_named():
    body = "(dp_ctx *, float n, double *out) { *out = n; return 0; }"
    for compiler in "g++", "clang++":
        for fn, kernel in (f"static int halve{body}", "halve"), ("", f"[]{body}"):
            source = f'#include <dispatchd/plugin.h>\n{fn}\nDP_KERNEL(half, m, CPU, "half", {kernel}, (f), (f))\n'
            done = compile_(compiler, ["-std=gnu++17"], source, "c++") if shutil.which(compiler) else None
            if done is not None:
                equal(done.returncode, 1, f"{compiler}'s exit code for '{kernel}': {done.stdout}")
                contains(done.stdout.replace("\\'", "'"), f"kernel '{kernel}': its C type is not what its letters "
                         "f>f stand for")


def test_a_function_of_another_type_than_its_macro_wants_does_not_compile():
    fn = "static int f(dp_ctx *c, long n) { (void)c; return (int)n; }\nstatic const int ops = 0;\n"
    for macro, wanted in (('DP_FALLBACK(CPU, f)', "'f' is not of the C type int (dp_call *)"),
                          ('DP_FALLBACK_GRAD(AutogradCPU, f)', "'f' is not of the C type int (dp_call *)"),
                          ('DP_LIBRARY_IMPL(m, CPU, DP_IMPL("f", f))', "'f' is not of the C type int (dp_call *)"),
                          ('DP_OBSERVER(f)', "'f' is not of the C type void (dp_observation *)"),
                          ('DP_OBSERVER_OF("aten::mm", f)', "'f' is not of the C type void (dp_observation *)"),
                          ('DP_OBSERVER_KEY(CPU, f)', "'f' is not of the C type void (dp_observation *)"),
                          ('DP_ON_LOAD(f)', "'f' is not of the C type int (dp_ctx *)"),
                          ('DP_ON_UNLOAD(f)', "'f' is not of the C type int (dp_ctx *)"),
                          ('DP_BACKEND_DEVICE(npu, ops)', "'ops' is not a const dp_device_ops")):
        source = f"#include <dispatchd/plugin.h>\n{fn}{macro}\n"
        for compiler, std, language in [(c, "-std=gnu11", "c") for c in COMPILERS] + [("g++", "-std=gnu++17", "c++")]:
            done = compile_(compiler, [std], source, language)
            equal(done.returncode, 1, f"{compiler}'s exit code for {macro}: {done.stdout}")
            contains(done.stdout.replace("\\'", "'"), wanted)


def test_a_reserved_letter_is_named():
    source = ('#include <dispatchd/plugin.h>\nstatic int f(dp_ctx *, double) { return 0; }\n'
              'DP_KERNEL(f, m, CPU, "f", f, (c), ())\n')
    for compiler, std, language in ("gcc", "-std=gnu2x", "c"), ("g++", "-std=gnu++17", "c++"):
        contains(compile_(compiler, [std], source, language).stdout, "DP_letter_c_is_reserved_for_complex")


main()
