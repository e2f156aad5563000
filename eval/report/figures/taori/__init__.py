"""Effective robustness: distance above the line of a reference, on logit axes."""
