"""What HTML pages share, of sites, of runs and of trainings.

template.py          fills `templates/`: the frame of a page, its parts, its style
pictures.py          pictures of pixels

Charts are drawn by `robust_tfds/charts`; the filter `chart` puts them into a page.
"""
