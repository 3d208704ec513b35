# twin: shared
"""End an engine inside the test's process exactly where a kill would hurt: around a commit."""

from dataclasses import dataclass

from dex_agents.engine.store.cut import StoreCut


@dataclass(slots=True)
class CommitCounter:
    """Count commits, and let the engine die around one of them.

    Attributes:
        before: Die instead of making this commit, counted from 1: everything up to the one before
            has happened and was acted on.
        after: Die right after this commit is durable: nobody has been told of it.
        cuts_next: Die instead of making the next commit, whichever that is; for a moment that only
            the code under test knows.
        commits: The commits that were made.
        is_cut: Whether the engine was made to die.
    """

    before: int | None = None
    after: int | None = None
    cuts_next: bool = False
    commits: int = 0
    is_cut: bool = False

    def __call__(self, moment: str, number: int) -> None:
        """Take note of a commit, as an engine's `on_commit`."""
        if moment == "after":
            self.commits = number
        is_due = number == (self.before if moment == "before" else self.after)
        if is_due or (self.cuts_next and moment == "before"):
            self.is_cut = True
            raise StoreCut(f"the store was cut {moment} commit {number}")
