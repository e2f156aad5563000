"""A run: from a config to cells, the table and reports.

plan.py says what is to be done, runner.py does it in order; data.py, model/,
fingerprints.py, cells.py and publish.py are its stages.
"""
