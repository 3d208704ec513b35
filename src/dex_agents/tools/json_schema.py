# twin: shared
"""Derive the JSON Schema of a function tool from its type hints.

Hints are read once, when the tool is defined, into the small tree of `Hint` values below. The
schema is written from that tree, and `arguments` decodes with it, so that both agree by
construction and no call looks at `typing` again.
"""

import dataclasses
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, Required, TypeAlias, Union, cast

from dex_agents.tools.results import to_json_value

ScalarKind = Literal["string", "integer", "number", "boolean", "null"]
JsonScalar: TypeAlias = str | int | float | bool | None

_SCALAR_KINDS: dict[object, ScalarKind] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    types.NoneType: "null",
}
_SUPPORTED = (
    "supported are str, int, float, bool, None, list, dict with str keys, Literal, Enum, unions, "
    'dataclasses, TypedDict, Any and Annotated[T, "description"]'
)


@dataclass(frozen=True, slots=True)
class ScalarHint:
    """One JSON scalar type."""

    kind: ScalarKind


@dataclass(frozen=True, slots=True)
class AnyHint:
    """Any JSON value, taken as it is."""


@dataclass(frozen=True, slots=True)
class ArrayHint:
    """A list and the hint of its items."""

    items: "Hint"


@dataclass(frozen=True, slots=True)
class MapHint:
    """A dict with string keys and the hint of its values."""

    values: "Hint"


@dataclass(frozen=True, slots=True)
class ChoiceHint:
    """A Literal or an Enum: pairs of the JSON value and the Python value it stands for."""

    choices: tuple[tuple[JsonScalar, object], ...]


@dataclass(frozen=True, slots=True)
class UnionHint:
    """One of several hints, in the order of the union."""

    members: tuple["Hint", ...]


@dataclass(frozen=True, slots=True)
class DescribedHint:
    """A hint with a description for the model."""

    hint: "Hint"
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldHint:
    """One named value: a parameter, a dataclass field or a TypedDict key.

    `default_schema` is `{"default": value}` when the default is JSON that the hint allows,
    else empty.
    """

    hint: "Hint"
    is_required: bool
    default_schema: dict[str, object] = field(default_factory=dict[str, object])


@dataclass(eq=False, slots=True, kw_only=True)
class RecordHint:
    """A dataclass, a TypedDict or a whole parameter list.

    Mutable only while hints are read: a recursive class meets its own record before all of its
    fields are known. Compared by identity for the same reason.
    """

    name: str
    build: Callable[..., object] | None
    fields: dict[str, FieldHint] = field(default_factory=dict[str, FieldHint])
    is_shared: bool = False


Hint: TypeAlias = (
    ScalarHint | AnyHint | ArrayHint | MapHint | ChoiceHint | UnionHint | DescribedHint | RecordHint
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionParameters:
    """What a function tool takes.

    `schema` is the JSON Schema for the model, `record` what decodes the arguments, and
    `injected_parameter` the name of the parameter that the caller fills in itself.
    """

    schema: dict[str, object]
    record: RecordHint
    injected_parameter: str | None


def describe_function(
    function: Callable[..., object], tool_name: str, *, injected_type: type | None = None
) -> FunctionParameters:
    """Read a function's parameters once, at definition.

    Args:
        function: The tool's function; every parameter needs a type hint.
        tool_name: The tool's name, for error texts.
        injected_type: At most one parameter may have this type, alone or with `None`. The
            schema leaves it out, since the model does not supply it.

    Returns:
        The schema, the decoding tree and the injected parameter's name.

    Raises:
        TypeError: A parameter cannot be described to a model; the text names the tool, the
            function and the parameter.
    """
    reader = _HintReader(f"tool {tool_name!r}")
    label = f"function {getattr(function, '__qualname__', repr(function))}"
    record = RecordHint(name=tool_name, build=None)
    injected: str | None = None
    for parameter in _parameters(function, reader, label):
        where = f"parameter {parameter.name!r} of {label}"
        hint = reader.resolve(function, parameter, where)
        if injected_type is not None and _is_injected(hint, injected_type):
            if injected is not None:
                raise reader.error(f"{where} and {injected!r} are both {injected_type.__name__}")
            injected = parameter.name
            continue
        is_required = parameter.default is inspect.Parameter.empty
        default = dataclasses.MISSING if is_required else parameter.default
        read = reader.read(hint, where)
        record.fields[parameter.name] = _field(read, is_required=is_required, default=default)
    schema = _SchemaWriter().write_root(record)
    return FunctionParameters(schema=schema, record=record, injected_parameter=injected)


def allows_null(hint: Hint) -> bool:
    """Tell whether JSON null is a value of the hint."""
    match hint:
        case AnyHint() | ScalarHint(kind="null"):
            return True
        case ChoiceHint():
            return any(json_value is None for json_value, _ in hint.choices)
        case UnionHint():
            return any(allows_null(member) for member in hint.members)
        case DescribedHint():
            return allows_null(hint.hint)
        case _:
            return False


def json_kind(value: object) -> str:
    """Name the JSON type of a parsed value, `integer` apart from `number`."""
    names: dict[type, str] = {
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
        list: "array",
        dict: "object",
    }
    return names.get(type(value), "null")


class _HintReader:
    """Reads hints into `Hint` trees; one per function, so that classes are read once."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._records: dict[type, RecordHint] = {}

    def error(self, reason: str) -> TypeError:
        return TypeError(f"{self._label}: {reason}")

    def resolve(
        self, function: Callable[..., object], parameter: inspect.Parameter, where: str
    ) -> object:
        # One parameter at a time: the error names the hint, and a return type that exists
        # only for type checkers does no harm.
        holder = types.SimpleNamespace(__annotations__={"hint": parameter.annotation})
        names = getattr(inspect.unwrap(function), "__globals__", {})
        try:
            return typing.get_type_hints(holder, globalns=names, include_extras=True)["hint"]
        except Exception as error:
            raise self._unresolved(f"{where} ({parameter.annotation!r})", error) from error

    def read(self, hint: object, where: str) -> Hint:
        if hint is Any or hint is object:
            return AnyHint()
        origin = typing.get_origin(hint)
        arguments: tuple[object, ...] = typing.get_args(hint)
        if origin is Annotated:
            return self._read_annotated(hint, where)
        if origin is Literal:
            return self._read_choices(((value, value) for value in arguments), hint, where)
        if origin is Union or origin is types.UnionType:
            return UnionHint(tuple(self.read(member, where) for member in arguments))
        container = origin or hint
        if container is list:
            return ArrayHint(self.read(arguments[0], where) if arguments else AnyHint())
        if container is dict:
            return self._read_dict(hint, arguments, where)
        if isinstance(hint, type):
            return self._read_class(hint, where)
        raise self._unsupported(hint, where)

    def _read_annotated(self, hint: object, where: str) -> Hint:
        inner, *metadata = cast("tuple[object, ...]", typing.get_args(hint))
        read = self.read(inner, where)
        description = next((entry for entry in metadata if isinstance(entry, str)), None)
        return read if description is None else DescribedHint(read, description)

    def _read_dict(self, hint: object, arguments: tuple[object, ...], where: str) -> Hint:
        if not arguments:
            return MapHint(AnyHint())
        if arguments[0] is not str:
            raise self._unsupported(hint, where)
        return MapHint(self.read(arguments[1], where))

    def _read_class(self, hint: type[object], where: str) -> Hint:
        if hint in _SCALAR_KINDS:
            return ScalarHint(_SCALAR_KINDS[hint])
        if issubclass(hint, Enum):
            return self._read_choices(((member.value, member) for member in hint), hint, where)
        if _is_dataclass(hint) or _is_typed_dict(hint):
            return self._read_record(hint)
        raise self._unsupported(hint, where)

    def _read_record(self, cls: type[object]) -> RecordHint:
        if cls in self._records:
            self._records[cls].is_shared = True
            return self._records[cls]
        record = RecordHint(name=cls.__name__, build=cls if _is_dataclass(cls) else None)
        self._records[cls] = record
        read = self._dataclass_fields if _is_dataclass(cls) else self._typed_dict_fields
        record.fields.update(read(cls))
        return record

    def _read_choices(
        self, pairs: Iterable[tuple[object, object]], hint: object, where: str
    ) -> Hint:
        choices: list[tuple[JsonScalar, object]] = []
        for given, python_value in pairs:
            json_value: object = given.value if isinstance(given, Enum) else given
            if not _is_json_scalar(json_value):
                raise self._unsupported(hint, where)
            choices.append((cast("JsonScalar", json_value), python_value))
        if not choices:
            raise self._unsupported(hint, where)
        return ChoiceHint(tuple(choices))

    def _dataclass_fields(self, cls: type[object]) -> Iterable[tuple[str, FieldHint]]:
        hints = self._class_hints(cls)
        for name, hint in hints.items():
            if _is_init_only(hint):
                raise self._unsupported(hint, f"field {name!r} of {cls.__name__}")
        for entry in dataclasses.fields(cast("type", cls)):
            if not entry.init:
                continue
            read = self.read(hints[entry.name], f"field {entry.name!r} of {cls.__name__}")
            has_factory = entry.default_factory is not dataclasses.MISSING
            is_required = entry.default is dataclasses.MISSING and not has_factory
            yield entry.name, _field(read, is_required=is_required, default=entry.default)

    def _typed_dict_fields(self, cls: type[object]) -> Iterable[tuple[str, FieldHint]]:
        required_keys = cast("frozenset[str]", vars(cls)["__required_keys__"])
        for name, hint in self._class_hints(cls).items():
            # Postponed annotations hide Required and NotRequired from __required_keys__.
            hint, is_required = _strip_requirement(hint, is_required=name in required_keys)
            read = self.read(hint, f"key {name!r} of {cls.__name__}")
            yield name, FieldHint(hint=read, is_required=is_required)

    def _class_hints(self, cls: type[object]) -> dict[str, object]:
        try:
            return typing.get_type_hints(cls, include_extras=True)
        except Exception as error:
            raise self._unresolved(f"a field of {cls.__qualname__}", error) from error

    def _unresolved(self, where: str, error: Exception) -> TypeError:
        return self.error(
            f"the type hint of {where} cannot be resolved: {error}; the names in it must be "
            "importable from the module at run time, not only for type checkers"
        )

    def _unsupported(self, hint: object, where: str) -> TypeError:
        container = typing.get_origin(hint) or hint
        advice = _SUPPORTED
        if container in (tuple, set, frozenset):
            advice = f"use list[T] instead; {_SUPPORTED}"
        return self.error(f"{where} has the unsupported type hint {_show(hint)}; {advice}")


class _SchemaWriter:
    """Writes schemas; a class that is used twice, or by itself, goes to `$defs`."""

    def __init__(self) -> None:
        self._definitions: dict[str, object] = {}
        self._references: dict[RecordHint, str] = {}

    def write_root(self, record: RecordHint) -> dict[str, object]:
        schema = self._write_object(record)
        return {**schema, "$defs": self._definitions} if self._definitions else schema

    def _write(self, hint: Hint) -> dict[str, object]:
        match hint:
            case AnyHint():
                return {}
            case ScalarHint():
                return {"type": hint.kind}
            case ArrayHint():
                return {"type": "array", "items": self._write(hint.items)}
            case MapHint(values=AnyHint()):
                return {"type": "object"}
            case MapHint():
                return {"type": "object", "additionalProperties": self._write(hint.values)}
            case ChoiceHint():
                return _write_choices(hint)
            case UnionHint():
                return {"anyOf": [self._write(member) for member in hint.members]}
            case DescribedHint():
                return _extend(self._write(hint.hint), {"description": hint.description})
            case RecordHint():
                return self._write_reference(hint) if hint.is_shared else self._write_object(hint)

    def _write_object(self, record: RecordHint) -> dict[str, object]:
        properties = {
            name: _extend(self._write(entry.hint), entry.default_schema)
            for name, entry in record.fields.items()
        }
        required = [name for name, entry in record.fields.items() if entry.is_required]
        schema: dict[str, object] = {"type": "object", "properties": properties}
        return {**schema, "required": required, "additionalProperties": False}

    def _write_reference(self, record: RecordHint) -> dict[str, object]:
        if record not in self._references:
            name = record.name
            while name in self._definitions:
                name += "_"
            self._references[record] = name
            self._definitions[name] = {}  # Reserves the name while the fields are written.
            self._definitions[name] = self._write_object(record)
        return {"$ref": f"#/$defs/{self._references[record]}"}


def _extend(schema: dict[str, object], extra: dict[str, object]) -> dict[str, object]:
    """Add keywords; next to `$ref` some providers refuse them and older drafts ignore them."""
    if extra and "$ref" in schema:
        return {"anyOf": [schema], **extra}
    return {**schema, **extra}


def _write_choices(hint: ChoiceHint) -> dict[str, object]:
    values = [json_value for json_value, _ in hint.choices]
    kinds = {json_kind(value) for value in values}
    return {"type": kinds.pop(), "enum": values} if len(kinds) == 1 else {"enum": values}


def _field(hint: Hint, *, is_required: bool, default: object) -> FieldHint:
    default_schema: dict[str, object] = {}
    is_allowed = default is not None or allows_null(hint)
    if default is not dataclasses.MISSING and is_allowed:
        try:
            default_schema = {"default": to_json_value(default)}
        except ValueError:
            # Such a default works in Python and means nothing to a model.
            default_schema = {}
    return FieldHint(hint=hint, is_required=is_required, default_schema=default_schema)


def _parameters(
    function: Callable[..., object], reader: _HintReader, label: str
) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except Exception as error:
        raise reader.error(f"the parameters of {label} cannot be read: {error}") from error
    refused = {
        inspect.Parameter.POSITIONAL_ONLY: "is positional-only; a tool is called by name",
        inspect.Parameter.VAR_POSITIONAL: "takes any number of values; use one list parameter",
        inspect.Parameter.VAR_KEYWORD: "takes any names; use one dict parameter",
    }
    for parameter in parameters:
        where = f"parameter {parameter.name!r} of {label}"
        if parameter.kind in refused:
            raise reader.error(f"{where} {refused[parameter.kind]}")
        if parameter.annotation is inspect.Parameter.empty:
            raise reader.error(f"{where} has no type hint; add one, such as {parameter.name}: str")
    return parameters


def _is_injected(hint: object, injected_type: type) -> bool:
    if typing.get_origin(hint) is Annotated:
        return _is_injected(typing.get_args(hint)[0], injected_type)
    if typing.get_origin(hint) in (Union, types.UnionType):
        members = [member for member in typing.get_args(hint) if member is not types.NoneType]
        return all(_is_injected(member, injected_type) for member in members)
    return hint is injected_type


def _is_dataclass(cls: type[object]) -> bool:
    return dataclasses.is_dataclass(cls)


def _is_init_only(hint: object) -> bool:
    return isinstance(hint, dataclasses.InitVar)


def _is_typed_dict(cls: type[object]) -> bool:
    # By shape: typing and typing_extensions have classes of their own for it.
    return "__required_keys__" in vars(cls) and issubclass(cls, dict)


def _strip_requirement(hint: object, *, is_required: bool) -> tuple[object, bool]:
    origin = typing.get_origin(hint)
    if origin is Required or origin is NotRequired:
        return typing.get_args(hint)[0], origin is Required
    if origin is Annotated:
        inner, *metadata = typing.get_args(hint)
        stripped, is_required = _strip_requirement(inner, is_required=is_required)
        return Annotated[(stripped, *metadata)], is_required
    return hint, is_required


def _is_json_scalar(value: object) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (str, int, bool)


def _show(hint: object) -> str:
    if isinstance(hint, type) and typing.get_origin(hint) is None:
        return f"{hint.__module__}.{hint.__qualname__}".removeprefix("builtins.")
    return repr(hint)
