"""The shared parts of the HTML pages of sites, runs and trainings.

template.py          fills `templates/`: the frame of a page, its parts, its style
pictures.py          embedded pictures

`robust_tfds/charts` draws charts; the filter `chart` puts them into a page.
"""
