# twin: generated from tests/aio/ui_stream/__init__.py by tools/twin; do not edit.
"""Browser streams on the embedded engine."""
