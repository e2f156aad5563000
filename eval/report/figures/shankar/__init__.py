"""Do image classifiers generalize across time? ImageNet-Vid-Robust, YTBB-Robust."""
