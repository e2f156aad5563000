"""Corruptions and perturbations of pictures: ImageNet-C, ImageNet-P."""
