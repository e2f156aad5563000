"""Families of networks that label every pixel, organised like
`models.classification`, and their layers.

>>> from robust_tfds import models
>>> models.get("tiny_fcn").spec.num_classes
11
"""
