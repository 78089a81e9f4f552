"""proto_tables.py PROTO_DIR -- prints methods/*.json and types/*.json as C tables
(daemon/methods/methods.h).

The table of methods says on which thread each method may run, and has a wrapper that passes the
method's function the struct of its params.  A oneOf distinguishes its objects by the first member
that each requires; the last object may require none."""

import json
import pathlib
import sys

from proto_params import c_method, members
from proto_schemas import KINDS, RUNS, check, kinds, load


class Tables:
    def __init__(self, types):
        self.types = types
        self.lines = []
        self.count = 0

    def name(self, prefix):
        self.count += 1
        return f"{prefix}_{self.count}"

    def refer(self, schema):
        """Return a C expression that points to the table of `schema`; emit the table if it has no
        name."""
        if "$ref" in schema:
            return f"&proto_{schema['$ref']}"
        name = self.name("type")
        self.define(name, schema, "static ")
        return f"&{name}"

    def define(self, name, schema, storage=""):
        fields = self.choices(schema["oneOf"]) if "oneOf" in schema else self.plain(schema)
        body = ", ".join(f".{k} = {v}" for k, v in fields.items())
        self.lines.append(f"{storage}const proto_type {name} = {{{body}}};")

    def resolve(self, schema):
        return self.types[schema["$ref"]] if "$ref" in schema else schema

    def choices(self, schemas):
        of, fields, objects = [], {}, []
        for s in schemas:
            plain = self.resolve(s)
            of += self.kinds(plain)
            if plain.get("type") == "object":
                objects.append(self.refer(s))
            elif plain.get("type") == "array":
                fields["items"] = self.refer(plain["items"])
            elif "minimum" in plain:
                fields.update(bounded="true", minimum=plain["minimum"])
        name = self.name("choices")
        self.lines.append(
            f"static const struct proto_type *const {name}[] = {{{', '.join(objects)}}};")
        fields.update(kinds=" | ".join(of), choices=name, n_choices=len(objects))
        return fields

    @staticmethod
    def kinds(schema):
        return [KINDS[kind] for kind in kinds(schema)]

    def plain(self, schema):
        fields = {"kinds": " | ".join(self.kinds(schema)) or "0"}
        if "properties" in schema:
            fields.update(self.members(schema))
        if "enum" in schema:
            name = self.name("values")
            values = ", ".join(json.dumps(v) for v in schema["enum"])
            self.lines.append(f"static const char *const {name}[] = {{{values}}};")
            fields.update(values=name, n_values=len(schema["enum"]))
        for key in ("items", "additionalProperties"):
            if key in schema:
                fields["items"] = self.refer(schema[key])
        if "minimum" in schema:
            fields.update(bounded="true", minimum=schema["minimum"])
        return fields

    def members(self, schema, filled=None):
        """Return the fields for the members of an object schema.  filled: {member: C text that says
        where the check stores it}; None: the check stores nothing."""
        required = schema.get("required", [])
        order = required + [k for k in schema["properties"] if k not in required]
        rows = [f'{{.name = "{k}", .type = {self.refer(schema["properties"][k])}'
                f'{", .required = true" if k in required else ""}{filled[k] if filled else ""}}}' for k in order]
        check(len(required) <= 64, "proto", f"{', '.join(required)}: more than 64 required members")
        if not rows:
            return {"closed": "true"}
        name = self.name("members")
        self.lines.append(f"static const proto_member {name}[] = {{{', '.join(rows)}}};")
        return {"closed": "true", "members": name, "n_members": len(rows)}


    def params(self, name, method):
        struct = f"{c_method(name)}_params"
        filled = {m.name: f", .fill = {m.fill}, .offset = offsetof({struct}, {m.c})" +
                          (f", .has = offsetof({struct}, has_{m.name})" if m.has else "")
                  for m in members(method, self.types)}
        fields = {"kinds": "PROTO_OBJECT", **self.members(method["params"], filled)}
        body = ", ".join(f".{k} = {v}" for k, v in fields.items())
        self.lines.append(f"const proto_type proto_{struct} = {{{body}}};")


def wrapper(name, method):
    c, has = c_method(name), bool(method["params"]["properties"])
    arguments = f"rq, &p->{c}, w, err" if has else "rq, w, err"
    unused = "" if has else "\n    (void)p;"
    return (f"static int run_{c}(request *rq, const proto_params *p, jw *w, dp_error *err)\n"
            f"{{{unused}\n    return {c}({arguments});\n}}")


def row(name, method):
    c, has = c_method(name), bool(method["params"]["properties"])
    size = f"sizeof({c}_params)" if has else "0"
    only = "true" if "only" in method else "false"
    return f'    {{"{name}", run_{c}, {RUNS[method["runs"]]}, &proto_{c}_params, {size}, {only}}},'


def absolute(schema):
    """Return a copy of `schema` whose references are paths of an OpenRPC document."""
    if isinstance(schema, list):
        return [absolute(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    return {k: f"#/components/schemas/{v}" if k == "$ref" else absolute(v) for k, v in schema.items()}


def openrpc(methods, types):
    listed = []
    for name, m in methods.items():
        required = m["params"].get("required", [])
        params = [{"name": k, "required": k in required, "schema": absolute(s)}
                  for k, s in m["params"]["properties"].items()]
        listed.append({"name": name, "summary": m["summary"], "paramStructure": "by-name",
                       "params": params, "result": {"name": "result", "schema": absolute(m["result"])}})
    return {"openrpc": "1.2.6", "info": {"title": "dispatchd", "version": "1"}, "methods": listed,
            "components": {"schemas": absolute(types)}}


def c_string(text, width=90):
    pieces = [text[i:i + width] for i in range(0, len(text), width)]
    return "\n    ".join(json.dumps(p, ensure_ascii=True) for p in pieces)


def main(folder):
    types, methods = load(folder)
    tables = Tables(types)
    for name, schema in types.items():
        tables.define(f"proto_{name}", schema)
    for name, method in methods.items():
        tables.params(name, method)
    document = json.dumps(openrpc(methods, types), separators=(",", ":"), ensure_ascii=True)
    print("/* Made by proto/gen/proto_tables.py from proto/methods and proto/types. */")
    print('#include "methods/methods.h"\n#include <stddef.h>')
    for name in types:
        print(f"extern const proto_type proto_{name};")
    print("\n".join(tables.lines))
    print("\n".join(wrapper(n, m) for n, m in methods.items()))
    print("const method methods[] = {\n" + "\n".join(row(n, m) for n, m in methods.items()) + "\n    {0}};")
    print("const char *const method_names[] = {" + ", ".join(f'"{n}"' for n in methods) + "};")
    print(f"const size_t n_methods = {len(methods)};")
    print(f"const char proto_openrpc[] =\n    {c_string(document)};")


main(pathlib.Path(sys.argv[1]))
