"""ml_collections files; the docstring of each is its manual."""

if __name__ == "configs":  # in a clone: a second name of the same modules
  from robust_tfds import short_names

  short_names.alias(__name__)
