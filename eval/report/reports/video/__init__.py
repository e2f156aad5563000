"""Reports of the task `video` alone."""
