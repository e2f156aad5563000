"""ml_collections files; the docstring of each is its manual."""
