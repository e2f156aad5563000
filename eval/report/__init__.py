"""Presentations of numbers: charts, tables, reports of runs, the papers' figures."""
