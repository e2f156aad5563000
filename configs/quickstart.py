"""The whole way on embedded data: signs or digits, corruptions or sequences, two models.

  robust-tfds run --config=quickstart --workdir=/tmp/quickstart
  robust-tfds run --config=quickstart --plan
  robust-tfds run --config=quickstart:signs_p --workdir=/tmp/p
  robust-tfds run --config=quickstart:signs_c --config.adapt.method=bn --workdir=/tmp/a

`signs_c` (the default) has 19 corruptions x 5 severities, `signs_p` the 14
perturbation sequences of ImageNet-P; `digits_c` and `digits_p` are the same of
scikit-learn's handwritten digits at 32 px.

With `adapt.method` a small network with batch norms is run in place of these, as it
is and adapted by bn, tent and eata, under the 15 common corruptions at severity 5:
docs/ADAPTATION.md.

Nothing is downloaded: the pictures are traffic signs in streets at 64 px, drawn
from a seed. A small CNN and a linear baseline are trained in seconds and kept in
the workdir. Results: table.csv and reports/ (report.html gathers all of them).
"""

import ml_collections

from robust_tfds import errors

_SETS = ("signs_c", "signs_p", "digits_c", "digits_p")

# EATA's clean pictures are those that the network was trained on.
_ADAPT = {"method": "", "beside": "bn,tent,eata", "batch_size": 16}

_RECIPES = {
  "signs": {"steps": 200, "batch_size": 64, "learning_rate": 4e-3},
  "digits": {"steps": 300, "batch_size": 128, "learning_rate": 3e-3},
}


def get_config(dataset: str = "signs_c") -> ml_collections.ConfigDict:
  """Return the run; override fields with --config.field=value."""
  if dataset not in _SETS:
    raise errors.UserError(
      f"quickstart.py:{dataset}: expected one of {', '.join(_SETS)} after the colon."
    )
  kind, _, family = dataset.partition("_")
  task, batch_size = "classification", 128
  data: dict = {"codec": "raw", "left_out": "absent"}  # frost, if missing
  if family == "p":
    task, batch_size = "sequences", 32  # sequences
    data = {
      "codec": "png",  # or "h264"
      "difficulties": (1, 2, 3),  # of noise; others have all three
    }
  train = {"dataset": kind, **_RECIPES[kind]}
  adapt: dict = {}
  if family == "c":
    network = {"name": f"{kind}_bn", "train": {**train}}
    adapt = {
      **_ADAPT,
      "clean": f"{kind}:train",
      "run": {
        "baseline": "",
        "photographs": False,
        "models": {f"{kind}_bn": network},
        "data": {"corruptions": "common", "severities": (5,)},
      },
    }
  names = (f"{kind}_linear", f"{kind}_cnn")
  return ml_collections.ConfigDict(
    {
      "task": task,
      "batch_size": batch_size,
      "baseline": f"model:{kind}_linear",
      "photographs": dataset == "signs_c",  # with the extra `demo`
      "data": {"name": dataset, "split": "test", **data},
      **({"adapt": adapt} if adapt else {}),
      "models": {name: {"name": name, "train": {**train}} for name in names},
    }
  ).lock()
