"""proto_params.py PROTO_DIR -- prints, for each method, a C struct of its checked params and its
function.

A member of the struct is an int64_t, a bool, an int (the index of an enum's value) or a
const char *.  It is a const cJSON * if the param may have several kinds, or is an object or an
array.  An optional member that is not a pointer has a bool has_NAME beside it.  proto_tables.py
uses `members` to tell the check which members to fill in."""

import pathlib
import sys

from proto_schemas import kinds, load

# By kind of a param with only one kind: its C type, and its PARAM_ constant
# (daemon/methods/methods.h).
PLAIN = {"integer": ("int64_t ", "PARAM_INT"), "boolean": ("bool ", "PARAM_BOOL"), "string": ("const char *", "PARAM_STR")}
ENUM = "int ", "PARAM_ENUM"
JSON = "const cJSON *", "PARAM_JSON"
KEYWORDS = {"return", "default", "register", "static", "switch", "case", "int", "float", "double", "bool"}


def c_method(name):
    return name.replace(".", "_")


def c_member(name):
    return name + "_" if name in KEYWORDS else name


class Member:
    def __init__(self, name, schema, required, types):
        plain = types[schema["$ref"]] if "$ref" in schema else schema
        of = kinds(plain)
        self.name, self.values = name, plain.get("enum", [])
        # the type that defines the enum; None: this param defines it
        self.enum = schema.get("$ref")
        self.c = c_member(name)
        self.type, self.fill = ENUM if self.values else PLAIN.get(of[0], JSON) if len(of) == 1 else JSON
        self.has = not required and not self.type.endswith("*")


def members(method, types):
    params = method["params"]
    return [Member(name, schema, name in params.get("required", []), types)
            for name, schema in params["properties"].items()]


def enumerators(prefix, values):
    return ", ".join(f"{prefix}_{value}".upper() for value in values)


def enums(methods, types):
    """Return a C enum for each enum of a param.  Its prefix is the type's name, or METHOD_PARAM if
    the param defines the enum."""
    made = {}
    for name, method in methods.items():
        for m in members(method, types):
            if m.values:
                made[m.enum or f"{c_method(name)}_{m.name}"] = m.values
    return [f"enum {{ {enumerators(prefix, values)} }};" for prefix, values in sorted(made.items())]


def struct(name, method, types):
    lines = [f"/* {method['summary']}. */" if "*/" not in method["summary"] else ""]
    lines.append(f"typedef struct {c_method(name)}_params {{")
    for m in members(method, types):
        lines.append(f"    {m.type}{m.c};")
        if m.has:
            lines.append(f"    bool has_{m.name};")
    return "\n".join([*lines, f"}} {c_method(name)}_params;"])


def function(name, method):
    params = f"const {c_method(name)}_params *p, " if method["params"]["properties"] else ""
    return f"int {c_method(name)}(request *rq, {params}jw *w, dp_error *err);"


def main(folder):
    types, methods = load(folder)
    with_params = {n: m for n, m in methods.items() if m["params"]["properties"]}
    print("/* Made by proto/gen/proto_params.py from proto/methods and proto/types. */")
    print('#ifndef PROTO_PARAMS_H\n#define PROTO_PARAMS_H\n\n#include "request.h"\n')
    print("\n".join(enums(methods, types)), end="\n\n")
    print("\n\n".join(struct(n, m, types) for n, m in with_params.items()), end="\n\n")
    print("/* The params of any method. */\ntypedef union proto_params {")
    print("\n".join(f"    {c_method(n)}_params {c_method(n)};" for n in with_params))
    print("} proto_params;\n")
    print("\n".join(f"extern const struct proto_type proto_{c_method(n)}_params;" for n in methods), end="\n\n")
    print("\n".join(function(n, m) for n, m in methods.items()))
    print("\n#endif")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
