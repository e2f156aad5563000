"""Reports that every task has."""
