"""Rows of the table turned into tables that are read."""
