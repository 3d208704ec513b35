# twin: shared
"""Every Python block of the README and the docs runs as it stands there."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# A block that starts with one of these goes on from an earlier block of its page.
_CONTINUES_ABOVE = "# continues the block above\n"
_CONTINUES_FIRST = "# continues the first agent\n"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page and what must run before it."""

    page: str
    line: int
    before: tuple[str, ...]
    code: str


def _blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    for match in _BLOCK.finditer(text):
        if match[1] != "python":
            continue
        code = match[2]
        before: tuple[str, ...] = ()
        if code.startswith(_CONTINUES_ABOVE):
            before = (*found[-1].before, found[-1].code)
        elif code.startswith(_CONTINUES_FIRST):
            before = (found[0].code,)
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page.name, line, before, code))
    return found


BLOCKS = [block for page in PAGES if page.exists() for block in _blocks(page)]


@pytest.mark.parametrize("block", BLOCKS, ids=[f"{b.page}:{b.line}" for b in BLOCKS])
def test_a_block_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "example"}
    for code in (*block.before, block.code):
        exec(compile(code, f"{block.page}:{block.line}", "exec"), namespace)


def test_the_readme_has_blocks_in_both_colours() -> None:
    readme = "".join(block.code for block in BLOCKS if block.page == "README.md")
    assert "from dex_agents_sync" in readme
    assert "from dex_agents import" in readme
