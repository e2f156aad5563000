"""Effective robustness: distance above the line of a reference, on logit axes."""

CITATION = (
  "Taori et al. 2020 (NeurIPS), Measuring Robustness to Natural Distribution"
  " Shifts in Image Classification, arXiv 2007.00644"
)
