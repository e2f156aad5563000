"""Run models over all of ImageNet's robustness benchmarks.

  robust-tfds suite --model=resnet50 --out=/runs/suite --manual_dir=/data/imagenet \\
      --checkpoint=torchvision:ResNet50_Weights.IMAGENET1K_V2
  robust-tfds suite --models=models.csv --manual_dir=/data/imagenet --out=/runs/suite
  robust-tfds suite --model=digits_cnn --checkpoint=weights.npz \\
      --sets=digits_c,digits_p --out=/tmp/suite

Every model and set has a run in a folder of its own below --out. index.html there
shows all headlines, and suite.csv has all numbers. A set whose data are missing is
left out, with a message. The same command continues: finished cells stay.

--models names a CSV without a header and with one model per line: NAME,CHECKPOINT or
NAME,CHECKPOINT,LABEL. A line of another form is reported, and the others are run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from absl import flags

from robust_tfds import command, errors
from robust_tfds.storage import paths

if TYPE_CHECKING:
  from eval.run.suite import Entry


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_string(
    "model", None, "Model: a name of the catalogue, or my_module:build."
  )
  flags.DEFINE_string(
    "checkpoint",
    "",
    "Weights of the model, as `run` takes them; default: none.",
  )
  flags.DEFINE_string("models", None, "CSV of models, instead of --model.")
  flags.DEFINE_string("out", None, "Folder of the suite. Required.")
  flags.mark_flags_as_required(["out"])
  flags.DEFINE_list(
    "sets",
    None,
    "Data sets, separated by commas; SET+METHOD also adapts the model. Default:"
    " imagenet_c, imagenet_c+bn, imagenet_c+tent, imagenet_c_bar, imagenet_p and the"
    " natural sets.",
  )
  flags.DEFINE_string(
    "manual_dir", None, "Folder with the archives that you downloaded by hand."
  )
  flags.DEFINE_string(
    "data_dir", None, "Folder of prepared sets; default: OUT/data."
  )
  flags.DEFINE_string(
    "prompts",
    None,
    "Prompts of CLIP models: openai80 and others, see docs/YOUR_MODEL.md.",
  )
  flags.DEFINE_integer(
    "limit",
    0,
    "Number of examples of each set; default: 0, all of them.",
    lower_bound=0,
  )
  flags.DEFINE_integer(
    "batch_size", 64, "Number of pictures in a batch.", lower_bound=1
  )
  flags.DEFINE_bool(
    "timm_csv", False, "Also write timm/SET.csv in the form of timm's results."
  )
  flags.DEFINE_enum(
    "plan",
    None,
    ["count", "measure"],
    "Print the work of every run and the missing data, and exit. count gives images"
    " and conditions; measure also compiles and times.",
  )


def main(argv: Sequence[str]) -> None:
  """Run the suite, or print its plan."""
  command.no_arguments(argv)
  from eval.run import suite as suite_lib

  settings = flags.FLAGS
  out = paths.parse(settings.out, "--out")
  names = ("manual_dir", "data_dir", "limit", "batch_size", "prompts")
  given = {n: settings[n].value for n in names if settings[n].value}
  suite = suite_lib.Suite(
    _entries(settings), settings.sets or suite_lib.default_steps(), out, given
  )
  if settings.plan:
    for line in suite.describe(measure=settings.plan == "measure"):
      print(line, flush=True)
    return
  outcomes = suite.run()
  if settings.timm_csv:
    suite.write_timm(outcomes)
  print(f"page:  {out / 'index.html'}\ntable: {out / 'suite.csv'}")


def _entries(settings: flags.FlagValues) -> list[Entry]:
  """Return the models that the flags name.

  Raises:
    UserError: neither or both of --model and --models, or a bad list.
  """
  from eval.run import suite as suite_lib

  if bool(settings.model) == bool(settings.models):
    raise errors.UserError(
      "Say which models: either --model=NAME with --checkpoint=FILE, or"
      " --models=FILE."
    )
  if settings.models:
    return suite_lib.read_models(paths.parse(settings.models, "--models"))
  label = settings.model.rpartition(":")[2] or settings.model
  return [suite_lib.Entry(settings.model, settings.checkpoint, label)]


if __name__ == "__main__":
  command.run(main, define_flags)
