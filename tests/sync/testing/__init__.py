# twin: generated from tests/aio/testing/__init__.py by tools/twin; do not edit.
