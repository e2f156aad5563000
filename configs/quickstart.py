"""The whole way on embedded data: signs or digits, corruptions or sequences, two models.

  robust-tfds run --config=quickstart --workdir=/tmp/quickstart
  robust-tfds run --config=quickstart --plan
  robust-tfds run --config=quickstart:signs_p --workdir=/tmp/p

`signs_c` (the default) has 19 corruptions x 5 severities, `signs_p` the 14
perturbation sequences of ImageNet-P; `digits_c` and `digits_p` are the same of
scikit-learn's handwritten digits at 32 px.

Nothing is downloaded: the pictures are traffic signs in streets at 64 px, drawn
from a seed. A small CNN and a linear baseline are trained in seconds and kept in
the workdir. Results: table.csv and reports/ (report.html gathers all of them).
"""

import ml_collections

from robust_tfds import errors

_SETS = ("signs_c", "signs_p", "digits_c", "digits_p")

_RECIPES = {
  "signs": {"steps": 200, "batch_size": 64, "learning_rate": 4e-3},
  "digits": {"steps": 300, "batch_size": 128, "learning_rate": 3e-3},
}


def get_config(dataset: str = "signs_c") -> ml_collections.ConfigDict:
  """The run; override fields with --config.field=value."""
  if dataset not in _SETS:
    raise errors.UserError(
      f"quickstart.py:{dataset}: expected one of {', '.join(_SETS)} after the colon."
    )
  kind, _, family = dataset.partition("_")
  sequences = family == "p"
  config = ml_collections.ConfigDict()
  config.task = "sequences" if sequences else "classification"
  config.batch_size = 128
  config.baseline = f"model:{kind}_linear"
  config.photographs = dataset == "signs_c"  # with the extra `demo`

  config.data = ml_collections.ConfigDict()
  config.data.name = dataset
  config.data.split = "test"
  if sequences:
    config.batch_size = 32  # sequences
    config.data.codec = "png"  # or "h264"
    config.data.perturbations = "all"  # common, extra, all, none or names
    config.data.difficulties = (1, 2, 3)  # of noise; others have all three
  else:
    config.data.codec = "raw"
    config.data.corruptions = "all"  # common, extra, all, none or names
    config.data.left_out = "absent"  # frost, where its pictures lack
    config.data.severities = (1, 2, 3, 4, 5)

  config.models = ml_collections.ConfigDict()
  for name in (f"{kind}_linear", f"{kind}_cnn"):
    model = ml_collections.ConfigDict()
    model.name = name
    model.train = ml_collections.ConfigDict(
      {
        "dataset": kind,
        "split": "train",
        **_RECIPES[kind],
        "seed": 0,
      }
    )
    config.models[name] = model
  return config.lock()
