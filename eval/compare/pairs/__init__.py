"""Comparisons of two models: what `eval.compare` reads, tests and writes.

pairing.py    which models, which conditions; what cannot be compared, and why
baseline.py   the reference that normalises both models
numbers.py    cells -> numbers with their draws, for both sides at once
cell_tests.py a test of every cell, Holm's adjustment over them
over_cells.py differences of the numbers over cells, e.g. mCE
answers.py    differences of metrics of answers: ECE, NLL and the like
compare.py    the whole comparison of one pair of models
lines.py      the result as plain data
tables.py     the result as text, CSV and Markdown
figure.py     the result as a figure
"""
