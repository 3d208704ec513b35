# twin: generated from tests/aio/session/__init__.py by tools/twin; do not edit.
