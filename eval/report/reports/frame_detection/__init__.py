"""Reports of the task `frame_detection` alone."""
