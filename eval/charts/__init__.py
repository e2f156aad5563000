"""Charts of evaluations: rows in, a matplotlib figure out, not saved yet.

bars.py         a group a condition, in it a bar a model
scatter.py      one number against another; names.py places their names
spans.py        a line a class or model, with several numbers on it
heat_map.py     numbers as colours
reliability.py  how often right at which top score
pictures.py     galleries and strips; box_labels.py places labels of boxes

Lines, and what all charts share, are in `robust_tfds/charts`.
"""
