# SPDX-License-Identifier: MIT
"""Checks a JSON value against the part of JSON Schema that docs/schemas uses. Python's standard library has no such module."""

KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "required", "properties", "items", "maxItems",
         "enum", "const", "anyOf", "minimum"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name in ("integer", "number"):
        return isinstance(value, int if name == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def problems(value, schema, root=None, at="$", seen=None):
    """What is wrong, as texts. A field that the schema does not name is an error: our own output must be described. `seen`
    collects the fields that were met, as (place in the schema, name)."""
    root = root or schema
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        return problems(value, root["$defs"][name], root, at, seen)
    unknown = set(schema) - KNOWN
    if unknown:
        return [f"{at}: the schema uses {sorted(unknown)}, which is not checked"]
    if "anyOf" in schema:
        tried = [problems(value, part, root, at, seen) for part in schema["anyOf"]]
        return [] if [] in tried else max(tried, key=len)
    found = []
    if "const" in schema and value != schema["const"]:
        found.append(f"{at}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r} is not one of {schema['enum']}")
    names = schema.get("type", [])
    if names and not any(is_type(value, name) for name in ([names] if isinstance(names, str) else names)):
        return [*found, f"{at}: {value!r} is not of type {names}"]
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        found.append(f"{at}: {value!r} is less than {schema['minimum']}")
    if isinstance(value, dict) and "properties" in schema:
        found += [f"{at}: no {key}" for key in schema["required"] if key not in value]
        found += [f"{at}.{key} is not described" for key in value if key not in schema["properties"]]
        for key in set(value) & set(schema["properties"]):
            if seen is not None:
                seen.add((id(schema), key))
            found += problems(value[key], schema["properties"][key], root, f"{at}.{key}", seen)
    if isinstance(value, list):
        if len(value) > schema.get("maxItems", len(value)):
            found.append(f"{at}: {len(value)} items")
        for i, item in enumerate(value):
            found += problems(item, schema["items"], root, f"{at}[{i}]", seen)
    return found


def described(schema):
    """All fields of a schema, as `problems` notes them."""
    fields = {(id(schema), key) for key in schema.get("properties", {})}
    for part in [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", []),
                 *([schema["items"]] if "items" in schema else [])]:
        fields |= described(part)
    return fields
