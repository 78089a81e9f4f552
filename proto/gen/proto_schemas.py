"""proto_schemas.py -- reads and checks methods/*.json and types/*.json; errors name the file and
the field.

The schemas are a small subset of JSON Schema: type, properties, required, additionalProperties,
items, enum, minimum, $ref to a type by its file's name, and oneOf.  Any other field is an error,
and so is a field that has no effect where it is used: the files say nothing that the daemon does
not check."""

import json
import re

from tables import is_a, name_of

KINDS = {
    "null": "PROTO_NULL",
    "boolean": "PROTO_BOOL",
    "integer": "PROTO_INT",
    "number": "PROTO_NUMBER",
    "string": "PROTO_STRING",
    "array": "PROTO_ARRAY",
    "object": "PROTO_OBJECT",
}
FIELDS = {"type": (str, [str]), "properties": dict, "required": [str], "additionalProperties": dict, "items": dict,
          "enum": [str], "minimum": int, "oneOf": list, "$ref": str, "description": str}
# Fields that have an effect only for these kinds.
OF = {"properties": {"object"}, "required": {"object"}, "additionalProperties": {"object"}, "items": {"array"},
      "enum": {"string"}, "minimum": {"integer", "number"}}
METHOD = {"summary": str, "runs": str, "params": dict, "result": dict}
# Of a method that only clients of the daemon's own uid may call: "only": "owner".
OPTIONAL = {"only": str}
# Values of "runs": METHOD_ constants of daemon/methods/methods.h.
RUNS = {
    "loop": "METHOD_LOOP",
    "worker": "METHOD_WORKER",
    "call": "METHOD_CALL",
    "at once": "METHOD_AT_ONCE",
}


def check(condition, at, text):
    if not condition:
        raise SystemExit(f"{at}: {text}")


def read(path):
    def once(pairs):
        names = [name for name, _ in pairs]
        for i, name in enumerate(names):
            check(name not in names[:i], path, f"{name}: there twice")
        return dict(pairs)
    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once)
    except json.JSONDecodeError as e:
        raise SystemExit(f"{path}:{e.lineno}: no JSON: {e.msg}")


def check_fields(value, fields, at):
    check(isinstance(value, dict), at, f"{value!r} is no object")
    for field, of in value.items():
        check(field in fields, at, f"no such field: {field}; there are {', '.join(fields)}")
        check(is_a(of, fields[field]), at, f"{field}: {of!r} is no {name_of(fields[field])}")


def kinds(schema):
    """Return the kinds of value that `schema` allows, by their names in JSON Schema."""
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else types


def check_schema(schema, at, types):
    check_fields(schema, FIELDS, at)
    for whole in "$ref", "oneOf":
        beside = set(schema) - {whole, "description"} if whole in schema else ()
        check(not beside, at, f"{', '.join(sorted(beside))}: beside {whole} it says nothing")
    check(schema.get("$ref", "") in ("", *types), at, f"$ref: no type '{schema.get('$ref')}' in proto/types")
    odd = [kind for kind in kinds(schema) if kind not in KINDS]
    check(not odd, at, f"type: no such: {', '.join(odd)}; there are {', '.join(KINDS)}")
    for field in (f for f in OF if f in schema):
        check(OF[field] & set(kinds(schema)), at, f"{field}: of {' or '.join(sorted(OF[field]))} alone, not {schema.get('type')!r}")
    missing = [name for name in schema.get("required", []) if name not in schema.get("properties", {})]
    check(not missing, at, f"required: not described: {', '.join(missing)}")
    for field in "required", "enum", "type":
        listed = schema.get(field, []) if isinstance(schema.get(field), list) else []
        check(len(set(listed)) == len(listed), at, f"{field}: one is there twice: {', '.join(listed)}")
    for name, child in schema.get("properties", {}).items():
        check_schema(child, f"{at}: {name}", types)
    for field in (f for f in ("items", "additionalProperties") if f in schema):
        check_schema(schema[field], f"{at}: {field}", types)
    check(schema.get("oneOf", [1]), at, "oneOf: of what?")
    for i, child in enumerate(schema.get("oneOf", [])):
        check_schema(child, f"{at}: oneOf {i}", types)
        check("array" not in kinds(child) or "items" in child, f"{at}: oneOf {i}", "items: of what?")


def load(folder):
    """Return [types, methods]: each {name: schema}."""
    types, methods = ({p.stem: (p, read(p)) for p in sorted((folder / name).glob("*.json"))} for name in ("types", "methods"))
    for path, schema in types.values():
        check_schema(schema, path, types)
    for path, method in methods.values():
        check_fields(method, METHOD | OPTIONAL, path)
        check(set(METHOD) <= set(method), path, f"{', '.join(sorted(set(METHOD) - set(method)))}: wanted")
        check(method["runs"] in RUNS, path, f"runs: no such: {method['runs']}; there are {', '.join(RUNS)}")
        check(method.get("only", "owner") == "owner", path, f"only: no such: {method.get('only')}; there is owner")
        check("properties" in method["params"], path, "params: properties: wanted, {} if there are none")
        odd = set(method["params"]) - {"type", "required", "properties"}
        check(not odd, path, f"params: {', '.join(sorted(odd))}: a method's params have type, required and properties alone")
        for field in "params", "result":
            check_schema(method[field], f"{path}: {field}", types)
        for name in method["params"]["properties"]:  # params become members of a C struct
            check(re.fullmatch(r"[a-z][a-z0-9_]*", name), path, f"params: {name}: no name in C")
            check(not name.startswith("has_"), path, f"params: {name}: has_ says that another one was given")
    return [{name: schema for name, (_, schema) in found.items()} for found in (types, methods)]
