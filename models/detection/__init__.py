"""Families of detectors, organised like `models.classification`, and their layers.

>>> from robust_tfds import models
>>> models.get("tiny_retinanet").spec.num_classes
10
"""
