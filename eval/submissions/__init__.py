"""Submissions: a run's cells as a folder that anybody can check.

A submission is a workdir (`eval/cells/workdir.py`) of its cells, its config, its
ground truth and its table alone, and `submission.json`, which says what its data
and models are and names every other file with its size and sha256. So whatever
reads a workdir reads a submission. `writer` makes them and `checker` checks them;
`docs/RESULTS.md` is for who makes one.
"""
