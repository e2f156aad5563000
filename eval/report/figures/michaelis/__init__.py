"""Corruptions for detectors: PASCAL-C, COCO-C, Cityscapes-C."""
