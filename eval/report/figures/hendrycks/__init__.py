"""Corruptions and perturbations of pictures: ImageNet-C, ImageNet-P."""

CITATION = (
  "Hendrycks and Dietterich 2019 (ICLR), Benchmarking Neural Network Robustness"
  " to Common Corruptions and Perturbations, arXiv 1903.12261"
)
