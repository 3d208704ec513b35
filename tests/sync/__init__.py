# twin: generated from tests/aio/__init__.py by tools/twin; do not edit.
