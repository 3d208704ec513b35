# twin: generated from tests/aio/stepwise/__init__.py by tools/twin; do not edit.
