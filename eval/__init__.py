"""The evaluator: commands, runs, tasks, metrics, reports."""

if __name__ == "eval":  # in a clone: a second name of the same modules
  from robust_tfds import short_names

  short_names.alias(__name__)
