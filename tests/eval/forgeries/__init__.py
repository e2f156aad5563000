"""Forged submissions: what catches each, or that nothing does.

Rows of `rows.py`; docs/SUBMITTING.md has them as a table.
"""
