"""Comparisons of runs: `eval.leaderboard`, `eval.compare`, the papers' figures.

runs.py     RUN on disk -> its cells
sides.py    one model of a run: its cells, and what is known about it
scores.py   cells -> every number of a model, its interval and its draws
boards/     models of all runs -> boards of what can be compared
pairs/      two models, cell by cell: differences and tests
"""
