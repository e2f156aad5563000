"""What several reports share; none of it is a report."""
