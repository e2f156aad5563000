"""Tables for readers, made from the rows of a run's table."""
