"""Reports of the task `subtypes` alone."""
