"""Reports of the task `frames` alone."""
