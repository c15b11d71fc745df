# SPDX-License-Identifier: MIT
"""Protocol buffers read back, independently of src/export/formats/pb_out.c: the wire format and, per message, a table of field numbers
written down from the published .proto files."""

# message: {number: (name, kind)}; a kind is "int", "text", "packed" (repeated ints) or the name of another message.
PERFETTO = {
    "Trace": {1: ("packet", "TracePacket")},
    "TracePacket": {8: ("timestamp", "int"), 10: ("trusted_packet_sequence_id", "int"), 11: ("track_event", "TrackEvent"),
                    13: ("sequence_flags", "int"), 60: ("track_descriptor", "TrackDescriptor")},
    "TrackDescriptor": {1: ("uuid", "int"), 2: ("name", "text"), 3: ("process", "ProcessDescriptor"),
                        4: ("thread", "ThreadDescriptor"), 5: ("parent_uuid", "int"), 8: ("counter", "CounterDescriptor")},
    "ProcessDescriptor": {1: ("pid", "int"), 6: ("process_name", "text")},
    "ThreadDescriptor": {1: ("pid", "int"), 2: ("tid", "int"), 5: ("thread_name", "text")},
    "CounterDescriptor": {3: ("unit", "int")},
    "TrackEvent": {9: ("type", "int"), 11: ("track_uuid", "int"), 22: ("categories", "text"), 23: ("name", "text"),
                   30: ("counter_value", "int")},
}
PPROF = {
    "Profile": {1: ("sample_type", "ValueType"), 2: ("sample", "Sample"), 3: ("mapping", "Mapping"), 4: ("location", "Location"),
                5: ("function", "Function"), 6: ("string_table", "text"), 9: ("time_nanos", "int"), 10: ("duration_nanos", "int"),
                11: ("period_type", "ValueType"), 12: ("period", "int"), 14: ("default_sample_type", "int")},
    "ValueType": {1: ("type", "int"), 2: ("unit", "int")},
    "Sample": {1: ("location_id", "packed"), 2: ("value", "packed"), 3: ("label", "Label")},
    "Label": {1: ("key", "int"), 2: ("str", "int"), 3: ("num", "int"), 4: ("num_unit", "int")},
    "Mapping": {1: ("id", "int"), 5: ("filename", "int"), 7: ("has_functions", "int"), 8: ("has_filenames", "int"),
                9: ("has_line_numbers", "int")},
    "Location": {1: ("id", "int"), 2: ("mapping_id", "int"), 3: ("address", "int"), 4: ("line", "Line")},
    "Line": {1: ("function_id", "int"), 2: ("line", "int")},
    "Function": {1: ("id", "int"), 2: ("name", "int"), 3: ("system_name", "int"), 4: ("filename", "int")},
}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            assert value < 1 << 64, "a number of more than 64 bits"
            return value, at


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def decode(schema, message, data):
    """{name: [values]}; a field that the table does not have, or of another wire type, is an error."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        name, kind = schema[message][number]
        value, at = varint(data, at)
        assert wire == (0 if kind == "int" else 2), f"{message}.{name}: wire type {wire}"
        if wire == 2:
            assert at + value <= len(data), f"{message}.{name}: longer than the message"
            part, at = data[at:at + value], at + value
            value = read_part(schema, kind, part)
        found.setdefault(name, []).append(signed(value) if kind == "int" else value)
    return found


def read_part(schema, kind, part):
    if kind == "text":
        return part.decode("utf-8")
    if kind != "packed":
        return decode(schema, kind, part)
    values, at = [], 0
    while at < len(part):
        value, at = varint(part, at)
        values.append(signed(value))
    return values


def as_proto(schema):
    """The same table as a .proto text, for protoc."""
    lines = ['syntax = "proto2";']
    for message, fields in schema.items():
        lines.append(f"message {message} {{")
        for number, (name, kind) in fields.items():
            form = {"int": "int64", "text": "string", "packed": "int64"}.get(kind, kind)
            packed = " [packed=true]" if kind == "packed" else ""
            lines.append(f"  repeated {form} {name} = {number}{packed};")
        lines.append("}")
    return "\n".join(lines) + "\n"
