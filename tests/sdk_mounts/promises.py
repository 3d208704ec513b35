# twin: shared
"""Which of the session's tests run on the SDK's Workers, and why the others do not."""

from collections.abc import Iterator
from types import FunctionType, ModuleType

from tests.sdk_mounts.shared_server import SERVER_ADDRESS

NEEDS_A_VIRTUAL_CLOCK = "it lets days pass, and only the embedded engine's clock can be moved"
IS_ABOUT_THE_EMBEDDED_ENGINE = "it is about an engine that ends with its process"
EXTENDS_THE_EMBEDDED_CLIENT = "it hooks into the embedded client's own methods"
LOOKS_AT_ONCE = "it reads the Stream while the SDK still sends what the model has said"

LEFT_OUT = {
    "test_a_deadline_refuses_what_nobody_answered": NEEDS_A_VIRTUAL_CLOCK,
    "test_time_skipping_passes_a_year_at_once": NEEDS_A_VIRTUAL_CLOCK,
    "test_a_turn_that_runs_between_token_and_snapshot_is_in_the_stream": (
        EXTENDS_THE_EMBEDDED_CLIENT
    ),
    "test_a_turn_that_starts_between_token_and_snapshot_is_in_the_stream": (
        EXTENDS_THE_EMBEDDED_CLIENT
    ),
    "test_a_turn_whose_start_was_trimmed_is_replayed_from_the_oldest_event": LOOKS_AT_ONCE,
    "test_closing_the_engine_ends_its_streams": IS_ABOUT_THE_EMBEDDED_ENGINE,
}

NAMES_WHAT_IS_STORED = "it expects the very session ID or agent name that it gave"

LEFT_OUT_ON_A_SHARED_SERVER = {
    "test_each_model_call_is_asked_for_and_reported_once": NAMES_WHAT_IS_STORED,
    "test_every_call_has_its_own_idempotency_key": NAMES_WHAT_IS_STORED,
    "test_pages_continue_where_the_last_one_ended": NAMES_WHAT_IS_STORED,
}


def promises_of(modules: list[ModuleType]) -> Iterator[tuple[str, object]]:
    """Yield the tests of some modules, as names of the module that runs them again."""
    left_out = {**LEFT_OUT, **(LEFT_OUT_ON_A_SHARED_SERVER if SERVER_ADDRESS else {})}
    for module in modules:
        for name, value in vars(module).items():
            is_test = isinstance(value, FunctionType) and name.startswith("test_")
            if is_test and value.__module__ == module.__name__ and name not in left_out:
                yield name, value
