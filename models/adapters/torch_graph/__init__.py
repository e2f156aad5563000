"""Graphs that torch exports, run in JAX.

`export.py` asks torch for a module's graph and reads it into plain data;
`program.py` is that data and runs it, without torch; `operators/` says what each
operator computes.
"""
