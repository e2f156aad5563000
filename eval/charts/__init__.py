"""Charts of evaluations: values in, a matplotlib figure out, not saved yet.

bars.py         a group per condition, in it a bar per model
scatter.py      one number against another; names.py places names
spans.py        a line per class or model, with several numbers on it
heat_map.py     numbers as colours
reliability.py  accuracy against the top score
pictures.py     galleries and strips; box_labels.py places the labels of boxes

Lines and the parts that all charts share are in `robust_tfds/charts`.
"""
