"""Charts of runs and of trainings: values in, a matplotlib figure out.

lines.py   numbers along an axis, e.g. an error against severity
svg.py     small SVGs, fit for pages, with their numbers on hover
frame.py   sizes, labels, ticks and legends around the panels of all charts
style.py   colours, files, values with intervals

Charts that only evaluations need are in `eval/charts`.
"""
