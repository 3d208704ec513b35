# twin: generated from tests/aio/cases/__init__.py by tools/twin; do not edit.
