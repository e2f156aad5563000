"""Reports of the task `classification` alone."""
