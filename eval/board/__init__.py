"""Runs side by side: what `eval.leaderboard`, its site and the figures read.

runs.py     RUN on disk -> its cells
scores.py   cells -> every number of a model, its interval and its draws
build.py    models of all runs -> boards of what can be compared
board.py    the boards as plain data
tables.py   boards -> CSVs
"""
