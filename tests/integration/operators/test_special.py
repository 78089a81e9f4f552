"""test_special.py -- special functions where PyTorch's are not exact, and where a plain loop would not end."""

import time

from harness import equal, less, main, raises
from daemon import TestDaemon

# Operator -> arguments and the value, rounded from 60 digits (mpmath).
EXACT = {
    "special_airy_ai": [
        (-28.5, 0.24256293131365944), (-9.25, 0.2052398087603554), (-3.75, -0.2516127030142227), (-2.25,
        0.06159865877700528), (-1.0, 0.5355608832923521), (0.5, 0.23169360648083348), (2.0,
        0.03492413042327438), (2.25, 0.023654658557747447), (9.0, 2.47116843087249e-09), (60.0,
        2.7831487094969354e-136)],
    "special_bessel_j0": [
        (0.5, 0.9384698072408129), (5.125, -0.1358837520737509), (33.0, 0.09727067223550946), (1000000.0,
        0.00033104301373987376)],
    "special_bessel_y0": [
        (0.5, -0.44451873350670656), (5.125, -0.3243382863394841), (33.0, 0.09913482552087946), (1000000.0,
        -0.0007259685223351791)],
    "special_modified_bessel_i0": [
        (-3.0, 4.8807925858650245), (0.5, 1.0634833707413236), (8.5, 683.1619269901156), (711.0,
        9.087162727263793e+306)],
    "special_modified_bessel_k0": [
        (0.25, 1.5415067512483027), (2.5, 0.06234755320036619), (100.0, 4.656628229175902e-45), (600.0,
        1.3558285309948523e-262)],
    "special_scaled_modified_bessel_k0": [
        (0.25, 1.9793338485985688), (2.5, 0.7595486903280996), (100.0, 0.12517562165912657), (600.0,
        0.05115568572023596)],
    "special_bessel_j1": [
        (0.5, 0.2422684576748739), (5.125, -0.3389470236402631), (33.0, 0.10061964911511749), (1000000.0,
        -0.000725968356813763)],
    "special_bessel_y1": [
        (0.5, -1.471472392670243), (5.125, 0.10512658904340123), (33.0, -0.0957801224197018), (1000000.0,
        -0.00033104337672417626)],
    "special_modified_bessel_i1": [
        (-3.0, -3.9533702174026093), (0.5, 0.2578943053908963), (8.5, 641.6199025400667), (711.0,
        9.080770067322847e+306)],
    "special_modified_bessel_k1": [
        (0.25, 3.7470259744407115), (2.5, 0.07389081634774707), (100.0, 4.6798537356369095e-45), (600.0,
        1.356957918112806e-262)],
    "special_scaled_modified_bessel_k1": [
        (0.25, 4.811276588171025), (2.5, 0.900174423907878), (100.0, 0.12579995047957854), (600.0,
        0.05119829772547244)],
    "lgamma": [
        (-2.5, -0.056243716497674054), (-0.25, 1.589575312551186), (0.25, 1.2880225246980774),
        (1.5, -0.12078223763524522), (2.75, 0.47521466691493713), (30.0, 71.25703896716801),
        (1000000.0, 12815504.569147611)],
    "special_i0e": [
        (-3.0, 0.2430003541618254), (0.5, 0.6450352704491501), (8.5, 0.13900184305484758),
        (700.0, 0.015081295651531358)],
    "special_i1e": [
        (-3.0, -0.19682671329730086), (0.5, 0.1564208031848717), (8.5, 0.13054935509459586),
        (700.0, 0.015070519444716848)],
    "special_spherical_bessel_j0": [
        (-3.0, 0.04704000268662241), (0.5, 0.958851077208406), (8.5, 0.09393966030864592),
        (700.0, 0.0007771007476619652)],
    "special_erfcx": [
        (-5.0, 144009798674.66104), (0.25, 0.7703465477309968), (24.0, 0.02348754606368264), (26.0,
        0.021683584850562907), (60.0, 0.009401854275176388)],
    "igamma": [
        (0.25, 0.5, 0.8464864041916775), (5.0, 3.0, 0.18473675547622792), (30.0, 31.0, 0.5953478209656109),
        (250.0, 300.0, 0.9986225281224718), (3.0, 9.0, 0.9937678048936227)],
    "igammac": [
        (0.25, 0.25, 0.25632205526853896), (0.001, 0.75, 0.0003406168462657451),
        (5.0, 3.0, 0.8152632445237721),
        (30.0, 31.0, 0.4046521790343891), (250.0, 300.0, 0.001377471877528202), (1600.0, 1700.0,
        0.006985121109730868), (3.0, 60.0, 1.6295866529378224e-23)],
    "special_zeta": [
        (1.5, 0.25, 10.213055360466601), (2.0, 30.5, 0.03333024811280161), (3.0, -4.25, -61.99063218366379),
        (2.0, -1000.25, 19.738209551699786), (3.0, -20000.75, 62.012553361849484)],
}
NEAR = 4e-12  # of the value: the phases of the oscillating ones are rounded once
ULP = 2.0**-23  # of float32, at most, of the value
# Of those, what is computed for float32 in vectors.  Arguments are float32's.
VECTORS = [n for n in EXACT if "bessel" in n or n in ("lgamma", "special_i0e", "special_i1e")]
DEGREE = 10**7
HUGE = 2.0**62
# Polynomial -> x, n and what it gives; steps would take hours for some.
DEGREES = {
    "chebyshev_polynomial_t": [(1 + 2**-48, DEGREE, 1.3768122701129843), (-1.0, HUGE, 1.0), (1.0, HUGE, 1.0), (3.0, HUGE, None)],
    "chebyshev_polynomial_u": [(1 + 2**-48, DEGREE, 11227030.69180104), (1.0, HUGE, HUGE), (0.5, -HUGE, 0.0)],
    "chebyshev_polynomial_v": [(1.0, HUGE, 1.0), (-1.0, HUGE, 2 * HUGE)],
    "chebyshev_polynomial_w": [(1.0, HUGE, 2 * HUGE), (-1.0, HUGE, 1.0)],
    "shifted_chebyshev_polynomial_t": [(0.0, HUGE, 1.0), (1.0, HUGE, 1.0)],
    "hermite_polynomial_h": [(0.0, HUGE, None), (0.5, -1.0, 0.0)],
    "hermite_polynomial_he": [(0.0, HUGE, None), (2.5, 1e30, 0.0)],
    "laguerre_polynomial_l": [(0.0, HUGE, 1.0), (-5.0, HUGE, None)],
    "legendre_polynomial_p": [(-1.0, HUGE, 1.0), (2.0, HUGE, None)],
}


def f64(values):
    return {"data": values, "dtype": "float64"}


def columns(cases, dtype="float64"):
    """Arguments as tensors, and the values."""
    *args, want = zip(*cases)
    return [{"data": list(a), "dtype": dtype} for a in args], list(want)


def apart(got, want):
    return abs(got - want) / abs(want) if want else abs(got)


def test_values_are_exact():
    with TestDaemon() as daemon, daemon.connect() as d:
        for name, cases in EXACT.items():
            args, wants = columns(cases)
            for case, got, want in zip(cases, d.op("aten::" + name, *args, returns="data")["data"], wants):
                less(apart(got, want), NEAR, f"{name}{case[:-1]}: {got!r}, want {want!r}")


def test_values_of_float32_are_rounded_once():
    with TestDaemon() as daemon, daemon.connect() as d:
        for name in VECTORS:
            cases = [c for c in EXACT[name] if 1e-37 < abs(c[1]) < 3e38]
            args, wants = columns(cases, "float32")
            for case, got, want in zip(cases, d.op("aten::" + name, *args, returns="data")["data"], wants):
                less(apart(got, want), ULP, f"{name}{case[:-1]}: {got!r}, want {want!r}")


def test_float32_far_from_0():
    far = {"data": [1e30, "inf", "-inf", "nan", 2.5], "dtype": "float32"}
    with TestDaemon() as daemon, daemon.connect() as d:
        for name in ("j0", "j1", "y0", "y1"):
            got = d.op("aten::special_bessel_" + name, far, returns="data")["data"]
            less(abs(got[0]), 1e-15, f"{name}(1e30)")
            equal(got[1:4], ["nan"] * 3, f"{name} of inf, -inf, nan")
            alone = d.op("aten::special_bessel_" + name, {"data": [2.5], "dtype": "float32"}, returns="data")
            equal(got[4:], alone["data"], f"{name}(2.5) beside far numbers")


def test_degrees_take_no_steps_where_the_value_is_known():
    start = time.monotonic()
    with TestDaemon() as daemon, daemon.connect() as d:
        for name, cases in DEGREES.items():
            args, wants = columns(cases)
            for case, got, want in zip(cases, d.op("aten::special_" + name, *args, returns="data")["data"], wants):
                what = f"{name}{case[:-1]}: {got!r}, want {want!r}"
                equal(got, "nan", what) if want is None else less(apart(got, want), 1e-7, what)
    less(time.monotonic() - start, 20, "seconds")


def test_other_degrees_are_refused():
    with TestDaemon() as daemon, daemon.connect() as d:
        for name in ("laguerre_polynomial_l", "legendre_polynomial_p"):
            raises(lambda: d.op("aten::special_" + name, f64([0.5]), f64([HUGE])), "RuntimeError", "degrees n up to 1000000")


main()
