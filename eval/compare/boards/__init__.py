"""Boards: models that can be compared, ranked.

build.py    models of all runs -> boards
board.py    the boards as plain data
tables.py   boards -> CSVs
"""
