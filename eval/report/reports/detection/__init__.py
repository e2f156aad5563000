"""Reports of the task `detection` alone."""
