# twin: generated from tests/aio/promises/__init__.py by tools/twin; do not edit.
