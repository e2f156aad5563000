"""Submissions: a run's cells as a folder that anybody can check.

A submission is a workdir (`eval/cells/workdir.py`) with nothing but its cells,
config, ground truth and table, and `submission.json`. That file says what its
data and models are, and names every other file with its size and sha256. So
whatever reads a workdir reads a submission. `writer` makes submissions and
`checker` checks them; `docs/RESULTS.md` is written for those who make one.
"""
