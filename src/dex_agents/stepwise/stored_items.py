# twin: shared
"""How the items of a conversation are stored as messages of a session, and read again.

The readable part of an item is in the message itself. `framework_item` is an envelope around the
rest, durable: `{"kind": ...}` for the user's text and a tool's result, and for what a model said
`{"kind": ..., "provider": ..., "item": ...}` with the provider's JSON text as a string.
"""

from typing import Final, NamedTuple, cast

from dex_agents.errors import NonRetryableError, StoredValueError
from dex_agents.model.keys import message_sequence_key
from dex_agents.model.messages import AgentMessage, FrameworkMessage, MessageRole
from dex_agents.model.wire import JsonValue, cached_decoder, json_text, parse_json
from dex_agents.stepwise.model_types import (
    ModelInputItem,
    ModelOutputItem,
    ModelOutputKind,
    ToolResultItem,
    UserTextItem,
)

_USER_TEXT: Final = "user_text"
_TOOL_RESULT: Final = "tool_result"
_OUTPUT_KINDS: Final = {kind.value: kind for kind in ModelOutputKind}

_USER_TEXT_ITEM: Final = json_text({"kind": _USER_TEXT})
_TOOL_RESULT_ITEM: Final = json_text({"kind": _TOOL_RESULT})


def user_text_message(text: str) -> FrameworkMessage:
    """Return the message that stores what a user said."""
    return FrameworkMessage(role=MessageRole.USER, framework_item=_USER_TEXT_ITEM, text=text)


def tool_result_message(result: ToolResultItem) -> FrameworkMessage:
    """Return the message that stores a tool's result."""
    return FrameworkMessage(
        role=MessageRole.TOOL,
        framework_item=_TOOL_RESULT_ITEM,
        text=result.output,
        tool_call_id=result.tool_call_id,
        tool_name=result.tool_name,
    )


def model_output_message(item: ModelOutputItem) -> FrameworkMessage:
    """Return the message that stores one item of a model response."""
    envelope: dict[str, JsonValue] = {
        "kind": item.kind.value,
        "provider": item.provider,
        "item": item.item,
    }
    is_reasoning = item.kind is ModelOutputKind.REASONING
    if is_reasoning and item.text:
        # A message's text is what a chat page shows as the assistant's words.
        envelope["text"] = item.text
    is_call = item.kind is ModelOutputKind.TOOL_CALL
    return FrameworkMessage(
        role=MessageRole.ASSISTANT,
        framework_item=json_text(envelope),
        text="" if is_reasoning else item.text,
        tool_call_id=item.tool_call_id if is_call else None,
        tool_name=item.tool_name if is_call else None,
        tool_arguments=item.arguments if is_call else None,
    )


def is_tool_call(message: AgentMessage) -> bool:
    """Tell whether a stored message is a model's request for a tool."""
    return message.role is MessageRole.ASSISTANT and message.tool_call_id is not None


def read_item(message: AgentMessage) -> ModelInputItem:
    """Return the item that a message stores.

    A kind that a newer release wrote is read as what its message says in plain terms.

    Raises:
        NonRetryableError: The envelope is damaged; the text names the message.
    """
    try:
        envelope = _read_envelope(message.framework_item)
    except StoredValueError as error:
        key = message_sequence_key(message.sequence)
        raise NonRetryableError(f"stored message {key} cannot be read: {error}") from error
    output_kind = _OUTPUT_KINDS.get(envelope.kind)
    if output_kind is not None:
        return _output_item(message, output_kind, envelope)
    if message.role is MessageRole.USER:
        return UserTextItem(message.text)
    if message.role is MessageRole.TOOL:
        return ToolResultItem(
            tool_call_id=message.tool_call_id or "",
            tool_name=message.tool_name or "",
            output=message.text,
        )
    kind = ModelOutputKind.TOOL_CALL if is_tool_call(message) else ModelOutputKind.MESSAGE
    return _output_item(message, kind, _Envelope(envelope.kind))


class _Envelope(NamedTuple):
    kind: str
    provider: str = ""
    item: str = ""
    text: str = ""


def _output_item(
    message: AgentMessage, kind: ModelOutputKind, envelope: _Envelope
) -> ModelOutputItem:
    is_call = kind is ModelOutputKind.TOOL_CALL
    return ModelOutputItem(
        kind=kind,
        provider=envelope.provider,
        item=envelope.item,
        text=envelope.text if kind is ModelOutputKind.REASONING else message.text,
        tool_call_id=(message.tool_call_id or "") if is_call else None,
        tool_name=(message.tool_name or "") if is_call else None,
        arguments=(message.tool_arguments or "") if is_call else None,
    )


def _decode_envelope(text: str) -> _Envelope:
    data: object = parse_json(text, "framework_item")
    if not isinstance(data, dict):
        raise StoredValueError("framework_item: not a JSON object")
    members = cast("dict[str, object]", data)
    values = {name: members.get(name, "") for name in _Envelope._fields}
    wrong = [name for name, value in values.items() if not isinstance(value, str)]
    if wrong or not values["kind"]:
        raise StoredValueError(f"framework_item.{(wrong or ['kind'])[0]}: expected a text")
    return _Envelope(**cast("dict[str, str]", values))


# Every model call reads the whole conversation again. Together at most some ten megabytes.
_read_envelope = cached_decoder(_decode_envelope, max_entries=4096, max_characters=2048)
