"""Generate the synchronous twin of the asynchronous source, line for line.

`python -m tools.twin` writes the twin, `--check` compares it, `--list` shows the colour of every
module, `--explain FILE` shows what changes in one file and by which rule.

Reading order: `rules` (the tables), `layout` (which file is what), `transform` (text to text),
`verify` (the whole run). `refusals`, `prose` and `flow` say what a source may not contain.
"""
