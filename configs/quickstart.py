"""The whole way on embedded data: digits, 19 corruptions, two small models.

  python -m eval.main --config=configs/quickstart.py --workdir=/tmp/quickstart
  python -m eval.main --config=configs/quickstart.py --plan

Nothing is downloaded: the images are scikit-learn's handwritten digits at
32x32 RGB. A small CNN and a linear baseline are trained in seconds and kept in
the workdir. Results: table.csv and reports/ (report.html gathers all of them).
"""

import ml_collections


def get_config() -> ml_collections.ConfigDict:
  """The run; override fields with --config.field=value."""
  config = ml_collections.ConfigDict()
  config.task = "classification"
  config.seed = 0
  config.batch_size = 128
  config.baseline = "model:digits_linear"
  config.reports = True

  config.data = ml_collections.ConfigDict()
  config.data.name = "digits_c"
  config.data.split = "test"
  config.data.source = "fly"  # or "prepared": the TFDS configs on disk
  config.data.codec = "raw"
  config.data.corruptions = "all"  # common, extra, all, none or names
  config.data.severities = (1, 2, 3, 4, 5)
  config.data.limit = 0  # 0: all examples
  config.data.data_dir = ""  # default: inside the workdir
  config.data.manual_dir = ""
  config.data.frost_dir = ""  # default: the installed imagecorruptions
  config.data.file_format = ""
  config.data.cache_gib = 4.0

  config.models = ml_collections.ConfigDict()
  for name, learning_rate in (("digits_linear", 3e-3), ("digits_cnn", 3e-3)):
    model = ml_collections.ConfigDict()
    model.name = name
    model.train = ml_collections.ConfigDict(
      {
        "dataset": "digits",
        "split": "train",
        "steps": 300,
        "batch_size": 128,
        "learning_rate": learning_rate,
        "seed": 0,
      }
    )
    config.models[name] = model
  return config.lock()
