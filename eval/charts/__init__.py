"""Charts: rows in, a matplotlib figure out; whoever asks for it saves it.

lines.py        numbers along an axis, e.g. an error against severity
bars.py         a group a condition, in it a bar a model
scatter.py      one number against another; names.py places their names
spans.py        a line a class or model, with several numbers on it
heat_map.py     numbers as colours
reliability.py  how often right at which top score
pictures.py     galleries and strips; box_labels.py places labels of boxes
frame.py        sizes, words, ticks and legends around the panels of all of them
style.py        colours, files, values with intervals
"""
