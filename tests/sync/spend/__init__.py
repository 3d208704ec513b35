# twin: generated from tests/aio/spend/__init__.py by tools/twin; do not edit.
