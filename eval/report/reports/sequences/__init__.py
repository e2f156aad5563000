"""Reports of the task `sequences` alone."""
