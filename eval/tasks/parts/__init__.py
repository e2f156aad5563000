"""Code that several tasks share."""
