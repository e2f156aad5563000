"""What HTML pages share, of sites, of runs and of trainings.

template.py          fills `templates/`: the frame of a page, its parts, its style
paths.py, axes.py    pictures of lines
pictures.py          pictures of pixels
"""
