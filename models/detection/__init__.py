"""Families of detectors, as in `models.classification`, and their layers.

>>> import models
>>> models.get("tiny_retinanet").spec.num_classes
10
"""
