"""proto_tables.py PROTO_DIR -- methods/*.json and types/*.json as C tables (daemon/methods/methods.h) on stdout.

The schemas are a small subset of JSON Schema: type, properties, required, additionalProperties, items,
enum, minimum, $ref to a type by its file's name, and oneOf.  A oneOf tells its objects apart by the
first member that each requires; the last may require none.  Anything else is an error here, so that
nothing is written down that the daemon does not check.
"""

import json
import pathlib
import sys

KINDS = {
    "null": "PROTO_NULL",
    "boolean": "PROTO_BOOL",
    "integer": "PROTO_INT",
    "number": "PROTO_NUMBER",
    "string": "PROTO_STRING",
    "array": "PROTO_ARRAY",
    "object": "PROTO_OBJECT",
}
KNOWN = {"type", "properties", "required", "additionalProperties", "items", "enum", "minimum",
         "oneOf", "$ref", "description"}


def load(folder):
    return {p.stem: json.loads(p.read_text()) for p in sorted(folder.glob("*.json"))}


class Tables:
    def __init__(self, types):
        self.types = types
        self.lines = []
        self.count = 0

    def name(self, prefix):
        self.count += 1
        return f"{prefix}_{self.count}"

    def refer(self, schema):
        """C expression of a pointer to the schema's table."""
        if "$ref" in schema:
            if schema["$ref"] not in self.types:
                raise SystemExit(f"no type '{schema['$ref']}' in proto/types")
            return f"&proto_{schema['$ref']}"
        name = self.name("type")
        self.define(name, schema, "static ")
        return f"&{name}"

    def define(self, name, schema, storage=""):
        unknown = set(schema) - KNOWN
        if unknown:
            raise SystemExit(f"{name}: not in the subset: {', '.join(sorted(unknown))}")
        fields = self.choices(schema["oneOf"]) if "oneOf" in schema else self.plain(schema)
        body = ", ".join(f".{k} = {v}" for k, v in fields.items())
        self.lines.append(f"{storage}const proto_type {name} = {{{body}}};")

    def resolve(self, schema):
        return self.types[schema["$ref"]] if "$ref" in schema else schema

    def choices(self, schemas):
        kinds, fields, objects = [], {}, []
        for s in schemas:
            plain = self.resolve(s)
            kinds += self.kinds(plain)
            if plain.get("type") == "object":
                objects.append(self.refer(s))
            elif plain.get("type") == "array":
                fields["items"] = self.refer(plain["items"])
        name = self.name("choices")
        self.lines.append(
            f"static const struct proto_type *const {name}[] = {{{', '.join(objects)}}};")
        fields.update(kinds=" | ".join(kinds), choices=name, n_choices=len(objects))
        return fields

    @staticmethod
    def kinds(schema):
        types = schema.get("type", [])
        return [KINDS[t] for t in ([types] if isinstance(types, str) else types)]

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

    def members(self, schema):
        required = schema.get("required", [])
        missing = set(required) - set(schema["properties"])
        if missing:
            raise SystemExit(f"required but not described: {', '.join(sorted(missing))}")
        order = required + [k for k in schema["properties"] if k not in required]
        rows = [f'{{"{k}", {self.refer(schema["properties"][k])}, '
                f'{"true" if k in required else "false"}}}' for k in order]
        if not rows:
            return {"closed": "true"}
        name = self.name("members")
        self.lines.append(f"static const proto_member {name}[] = {{{', '.join(rows)}}};")
        return {"closed": "true", "members": name, "n_members": len(rows)}


def absolute(schema):
    """The same schema with its references as an OpenRPC document writes them."""
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
    types, methods = load(folder / "types"), load(folder / "methods")
    tables = Tables(types)
    for name, schema in types.items():
        tables.define(f"proto_{name}", schema)
    rows = [f'    {{"{n}", {tables.refer(m["params"])}}},' for n, m in methods.items()]
    document = json.dumps(openrpc(methods, types), separators=(",", ":"), ensure_ascii=True)
    print("/* Made by proto/gen/proto_tables.py from proto/methods and proto/types. */")
    print('#include "methods/methods.h"')
    for name in types:
        print(f"extern const proto_type proto_{name};")
    print("\n".join(tables.lines))
    print("const proto_method proto_methods[] = {\n" + "\n".join(rows) + "\n    {0}};")
    print(f"const char proto_openrpc[] =\n    {c_string(document)};")


main(pathlib.Path(sys.argv[1]))
