"""What several figures of papers share; none of it is a figure."""
