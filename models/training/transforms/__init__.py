"""Transforms of batches, one file each; they share `operations` and `draws`.

Pixels are computed in whole numbers from the draws of each example's key, so
they do not depend on the batch, order, device or host.
"""
