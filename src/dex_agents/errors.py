# twin: shared
"""Every exception of this package, once.

    DexAgentsError
    ├─ ToolExecutionError                 a tool's failure that the model should see; no retry
    ├─ NonRetryableError                  another attempt of this call cannot help
    ├─ InvalidAgentEventResumeTokenError  answer 400; the browser loads the snapshot again
    ├─ StepInvocationClosed               the Step ended while a call of it still ran
    ├─ StepCallError                      one attempt of a call failed; another one may cure it
    ├─ StoredValueError                   a stored record cannot be read; the message holds its key
    └─ EngineError                        the engine inside this process cannot do what was asked
       ├─ EngineFileInUseError            another process owns the file
       ├─ EngineFileVersionError          a newer release wrote the file, or it is no engine file
       ├─ EngineStorageError              the disk refused: no permission, no space, an I/O error
       └─ EngineStoppedError              the engine was closed, or died, before it could answer

Mistakes in a program are builtins (`TypeError`, `ValueError`, `LookupError`) and are raised where
the mistake is made. What the `dex` SDK has a public exception for (a Flow that is not active, a
lock conflict, a failed RPC handler) is raised as that exception on every engine.
"""


class DexAgentsError(Exception):
    """The base of all exceptions that this package defines."""


class ToolExecutionError(DexAgentsError):
    """Report a tool failure that the model should see.

    The session records the call as `failed` with this message and does not try it again.
    """


class NonRetryableError(DexAgentsError):
    """Report a failure that another attempt cannot cure, such as a refused credential.

    Raised by a model call it ends the turn after this attempt. Raised by a tool it ends the call:
    a read as `failed`, anything else as `outcome_unknown`.
    """


class InvalidAgentEventResumeTokenError(DexAgentsError):
    """Report a resume token that does not belong to this session's event Stream.

    A web route answers 400, which stops the browser's `EventSource`; the page then loads the
    snapshot again and continues from its token.
    """


class StepInvocationClosed(DexAgentsError):
    """Report a heartbeat or checkpoint of a call whose Step has already ended."""


class StepCallError(DexAgentsError):
    """Carry the failure of one attempt of a model or tool call to the engine.

    Every exception of such a call becomes this one, so that all engines record the same text.

    Attributes:
        error_type: The full name of the exception's type.
        text: Clean text of at most 1,000 bytes.
        retry_after_seconds: When to try again, where the failure said so.
    """

    def __init__(
        self, text: str, *, error_type: str, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(text)
        self.text = text
        self.error_type = error_type
        self.retry_after_seconds = retry_after_seconds


class StoredValueError(DexAgentsError):
    """Report stored text that cannot be read as the record it should be."""


class EngineError(DexAgentsError):
    """The base of what the engine inside this process raises."""


class EngineFileInUseError(EngineError):
    """Report that another process owns the engine file."""


class EngineFileVersionError(EngineError):
    """Report a file that this release cannot read: a newer schema, or no engine file at all."""


class EngineStorageError(EngineError):
    """Report that the disk refused a write or a read; nothing of the failed batch was kept."""


class EngineStoppedError(EngineError):
    """Report that the engine was closed or died before it could answer."""
