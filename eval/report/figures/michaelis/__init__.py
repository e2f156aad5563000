"""Corruptions for detectors: PASCAL-C, COCO-C, Cityscapes-C."""

CITATION = (
  "Michaelis et al. 2019, Benchmarking Robustness in Object Detection:"
  " Autonomous Driving when Winter is Coming, arXiv 1907.07484"
)
