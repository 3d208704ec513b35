# twin: shared
"""About how many tokens a model call will use, said before it is made without a tokenizer."""

from dataclasses import dataclass
from typing import Final, Protocol, cast

from dex_agents.model.state import AgentUsage
from dex_agents.model.text import utf8_size
from dex_agents.runner.turn_values import AgentTurn

ASSUMED_OUTPUT_TOKENS: Final = 4096
"""What an answer is taken for whose longest form nobody has set."""

# Three UTF-8 bytes per token: errs high for English, which has about four, and is close for text
# in scripts of three bytes per character.
_BYTES_PER_TOKEN: Final = 3


def estimate_text_tokens(text: str) -> int:
    """Return about how many tokens a text has; 0 only for no text."""
    return -(-utf8_size(text) // _BYTES_PER_TOKEN)


def estimate_stored_input_tokens(turn: AgentTurn) -> int:
    """Return about how many tokens a framework will send for a turn.

    For runners that cannot say it themselves: each stored item counts as it is stored, and so does
    the run state of a turn that goes on, with the results of its calls.
    """
    texts = [message.framework_item for message in turn.messages]
    if turn.framework_run_state is not None:
        texts.append(turn.framework_run_state)
        texts += (record.output or record.error or "" for record in turn.tool_calls.values())
    return sum(map(estimate_text_tokens, texts))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallEstimate:
    """About what one model call will use.

    Attributes:
        usage: The tokens of its whole input, and of the longest answer it may give.
        model: The model's name, if it is known before the call.
    """

    usage: AgentUsage
    model: str | None = None


class ModelCallEstimator(Protocol):
    """A runner that can say what a model call will use; optional, and asks nobody."""

    def estimate_model_call(self, turn: AgentTurn) -> ModelCallEstimate:
        """Return about what the turn's next model call will use, erring high."""
        ...


def model_call_estimator(runner: object) -> ModelCallEstimator | None:
    """Return the runner as what estimates model calls, or `None` when it does not."""
    if callable(getattr(runner, "estimate_model_call", None)):
        return cast(ModelCallEstimator, runner)
    return None
