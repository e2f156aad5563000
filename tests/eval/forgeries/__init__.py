"""Forged submissions: what catches each, or that nothing does.

Lines of `forgeries.tsv`; docs/SUBMITTING.md has them as a table.
"""
