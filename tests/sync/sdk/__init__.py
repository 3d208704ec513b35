# twin: generated from tests/aio/sdk/__init__.py by tools/twin; do not edit.
