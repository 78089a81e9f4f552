"""test_discover.py -- rpc.discover answers a valid OpenRPC document: by OpenRPC's own meta-schema
(tests/data/openrpc_meta_schema.json), by this file's validator and, if it is installed, by python3-jsonschema."""

import copy
import json
import os
import re

from harness import ROOT, equal, less, main
from daemon import TestDaemon

KINDS = {"null": type(None), "boolean": bool, "string": str, "array": list, "object": dict,
         "integer": int, "number": (int, float)}
# Keywords of JSON Schema that say nothing about whether a value is valid.
NOTES = {"$schema", "$id", "title", "description", "default", "definitions", "format"}
# Two references of the meta-schema to other documents: to JSON Schema itself, and to its "$ref".
JSON_SCHEMA = "https://meta.json-schema.tools"
REFERENCE = JSON_SCHEMA + "/#/definitions/JSONSchemaObject/properties/$ref"
# What a schema of the document may have: keyword: the kind of its value.
SCHEMA_WORDS = {"type": ("string", "array"), "description": ("string",), "enum": ("array",), "minimum": ("number",),
                "$ref": ("string",), "oneOf": ("array",), "items": ("object",), "properties": ("object",),
                "required": ("array",), "additionalProperties": ("object", "boolean")}


class Wrong(Exception):
    pass


def is_a(value, kind):
    return isinstance(value, KINDS[kind]) and (kind in ("boolean",) or not isinstance(value, bool))


def want(condition, at, text):
    if not condition:
        raise Wrong(f"{at}: {text}")


class Validator:
    """The keywords that the meta-schema uses; any other one is an error of this file."""

    def __init__(self, meta):
        self.meta = meta

    def find(self, ref):
        want(ref.startswith("#/"), ref, "a reference to another document")
        schema = self.meta
        for part in ref[2:].split("/"):
            schema = schema[part]
        return schema

    def check(self, value, schema, at="document"):
        if schema is True:
            return
        if "$ref" in schema:
            if schema["$ref"] == JSON_SCHEMA:
                check_schema(value, at)
            elif schema["$ref"] == REFERENCE:
                want(isinstance(value, str), at, f"{value!r} is no reference")
            else:
                self.check(value, self.find(schema["$ref"]), at)
            return
        for word, argument in schema.items():
            if word not in NOTES:
                getattr(self, "check_" + word)(value, argument, schema, at)

    def check_type(self, value, kinds, schema, at):
        kinds = [kinds] if isinstance(kinds, str) else kinds
        want(any(is_a(value, k) for k in kinds), at, f"{value!r} is no {kinds}")

    def check_enum(self, value, values, schema, at):
        want(value in values, at, f"{value!r} is none of {values}")

    def check_required(self, value, names, schema, at):
        missing = [n for n in names if n not in value]
        want(not missing, at, f"{missing} missing")

    def check_minLength(self, value, n, schema, at):
        want(len(value) >= n, at, f"{value!r} is shorter than {n}")

    def check_properties(self, value, schemas, schema, at):
        for name in schemas:
            if isinstance(value, dict) and name in value:
                self.check(value[name], schemas[name], f"{at}.{name}")

    def check_patternProperties(self, value, patterns, schema, at):
        for name in value if isinstance(value, dict) else ():
            for pattern in patterns:
                if re.search(pattern, name):
                    self.check(value[name], patterns[pattern], f"{at}.{name}")

    def check_additionalProperties(self, value, allowed, schema, at):
        want(allowed is False, at, "only false is known here")
        for name in value if isinstance(value, dict) else ():
            known = name in schema.get("properties", {}) or any(re.search(p, name) for p in schema.get("patternProperties", {}))
            want(known, at, f"'{name}' is not allowed")

    def check_items(self, value, schema_of_items, schema, at):
        for i, item in enumerate(value if isinstance(value, list) else ()):
            self.check(item, schema_of_items, f"{at}[{i}]")

    def check_additionalItems(self, value, allowed, schema, at):
        pass  # has no effect where `items` is one schema

    def check_oneOf(self, value, schemas, schema, at):
        reasons = []
        for s in schemas:
            try:
                self.check(value, s, at)
            except Wrong as e:
                reasons.append(str(e))
        want(len(reasons) == len(schemas) - 1, at, f"{len(schemas) - len(reasons)} fit, not one: {reasons}")


def check_schema(schema, at):
    """A schema of the document, as JSON Schema draft 7 has it; only words that proto uses may occur."""
    if isinstance(schema, bool):
        return
    want(isinstance(schema, dict), at, f"{schema!r} is no schema")
    for word, value in schema.items():
        want(word in SCHEMA_WORDS, at, f"the keyword '{word}'")
        want(any(is_a(value, k) for k in SCHEMA_WORDS[word]), f"{at}.{word}", f"{value!r}")
    kinds = schema.get("type", [])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        want(kind in KINDS, f"{at}.type", kind)
    for name, s in schema.get("properties", {}).items():
        check_schema(s, f"{at}.{name}")
    for name in schema.get("required", []):
        want(name in schema["properties"], f"{at}.required", f"'{name}' is not described")
    for i, s in enumerate(schema.get("oneOf", [])):
        check_schema(s, f"{at}.oneOf[{i}]")
    for word in "items", "additionalProperties":
        if word in schema:
            check_schema(schema[word], f"{at}.{word}")


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__()
        with open(os.path.join(ROOT, "tests", "data", "openrpc_meta_schema.json"), encoding="utf-8") as f:
            self.meta = json.load(f)
        with self.connect() as d:
            self.document = d.call("rpc.discover")

    def check(self, document):
        Validator(self.meta).check(document, self.meta)


def test_the_document_is_valid(f):
    f.check(f.document)
    less(40, len(f.document["methods"]), "methods")


def test_what_is_wrong_is_found(f):
    """A validator that finds nothing would not notice a wrong document either."""
    def broken(change):
        document = copy.deepcopy(f.document)
        change(document)
        try:
            f.check(document)
        except Wrong as e:
            return str(e)
        return None
    methods, types = (lambda d: d["methods"]), (lambda d: d["components"]["schemas"])
    changes = [
        lambda d: d.pop("info"), lambda d: d.pop("methods"), lambda d: d["info"].pop("version"),
        lambda d: d.update(openrpc="9.9.9"), lambda d: d.update(surplus=1), lambda d: d["info"].update(version=1),
        lambda d: methods(d)[0].pop("params"), lambda d: methods(d)[0].update(name=""),
        lambda d: methods(d)[0].update(paramStructure="by-luck"), lambda d: methods(d)[0].update(params={}),
        lambda d: methods(d)[0]["result"].pop("schema"),
        lambda d: methods(d)[0]["params"].append({"schema": {}}),
        lambda d: next(iter(types(d).values())).update(type="float"),
        lambda d: next(iter(types(d).values())).update(required="x"),
    ]
    equal([i for i, change in enumerate(changes) if broken(change) is None], [], "changes that were not found")


def references(value):
    if isinstance(value, dict):
        for name, v in value.items():
            yield from [v] if name == "$ref" else references(v)
    elif isinstance(value, list):
        for v in value:
            yield from references(v)


def test_every_reference_is_there(f):
    names = {r for r in references(f.document)}
    less(20, len(names), "references")
    there = {"#/components/schemas/" + name for name in f.document["components"]["schemas"]}
    equal(names - there, set(), "references to nothing")
    equal(there - names, set(), "types that nothing names")


def test_methods_are_those_of_proto(f):
    names = sorted(name[:-len(".json")] for name in os.listdir(os.path.join(ROOT, "proto", "methods")))
    equal([m["name"] for m in f.document["methods"]], names)
    equal([m["name"] for m in f.document["methods"] if not m["summary"]], [], "methods without a summary")
    equal([m["name"] for m in f.document["methods"] for p in m["params"]
           if "description" not in p["schema"] and "$ref" not in p["schema"]], [], "params without a description")


def test_with_jsonschema(f):
    try:
        import jsonschema
    except ImportError:
        print("skipped: python3-jsonschema is not installed")
        return
    draft_7 = jsonschema.Draft7Validator.META_SCHEMA
    meta = copy.deepcopy(f.meta)  # without references to addresses that may not be reached
    meta["$schema"] = draft_7["$schema"]
    meta["definitions"]["JSONSchema"] = {"$ref": draft_7["$id"]}
    meta["definitions"]["referenceObject"]["properties"]["$ref"] = {"type": "string"}
    jsonschema.Draft7Validator(meta).validate(f.document)


main(Fixture, Fixture.finish)
