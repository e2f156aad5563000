"""Boards: models that can be compared, ranked.

build.py    models of all runs -> boards
board.py    the boards as plain data
tables.py   boards -> CSVs
"""

# Whose models a line of effective robustness is fitted to (`effective.py`).
REFERENCES = ("standard", "testbed", "printed", "runs")
