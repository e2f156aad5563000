"""ImageNet-P perturbations, one file each; see `sequences.py`."""
