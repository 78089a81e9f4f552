"""gen_autocast.py NATIVE_FUNCTIONS_YAML AUTOCAST_YAML DIR -- generates DIR/autocast_lists.c, a part of
plugin autocast that registers a kernel for each operator of AUTOCAST_YAML, with the line of the file.

The file is written only if its text changes."""

import os
import sys

import ops
from emit import line, literal, write
from tables import Entry, Listed, check, load

POLICIES = {"lower_precision_fp": "dp_cast_lower_precision_fp", "fp32": "dp_cast_fp32",
            "fp32_set_opt_dtype": "dp_cast_fp32_set_opt_dtype", "promote": "dp_cast_promote",
            "fp32_append_dtype": "cast_fp32_append_dtype", "banned": "cast_banned"}


def lists(path, names):
    """Yield (key, policy, operator, its file and line) for each operator of the file; `names` are those that
    exist."""
    keys = load(path, Entry, "keys")
    for key, policies in keys.items():
        check(isinstance(policies, Entry), keys.at(key), f"{key}: policies are wanted")
        seen = {}
        for policy, operators in policies.items():
            check(policy in POLICIES, policies.at(policy), f"no policy '{policy}'; there are {', '.join(POLICIES)}")
            check(isinstance(operators, Listed), policies.at(policy), f"{policy}: a list is wanted")
            for name, where in zip(operators, operators.locations):
                check(name in names, where, f"no operator aten::{name}")
                check(name not in seen, where, f"{name} is in the list of {seen.get(name)}, too")
                seen[name] = policy
                yield key, policy, name, where


def main(native_path, path, folder):
    names = ops.native(native_path)
    out = [f"/* Made by proto/gen from {path}. */", '#include "policies.h"', ""]
    for key, policy, name, where in lists(path, names):
        out += [line(where), f"DP_LIBRARY_IMPL(aten, {key}, DP_IMPL({literal(name)}, {POLICIES[policy]}))"]
    write(os.path.join(folder, "autocast_lists.c"), "\n".join(out) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
