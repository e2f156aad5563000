"""Write the outputs of layers of a run's models, for figures of features.

  robust-tfds features --layers=layer3,layer4 --out=/tmp/features RUN RUN
  ... --conditions=clean,jumbling_5 --limit=500
  robust-tfds figures schiappa_f9_cka --features=/tmp/features --out=/tmp/figures
  robust-tfds figures schiappa_f18 --features=/tmp/features --out=/tmp/figures

RUN is a workdir of `robust-tfds run` whose data and weights still exist. Its models
are shown its examples again, under the same conditions. A layer is one of
`models.get(NAME).layers`, or `features`, the input of the last layer. Outputs are
pooled over space, time and clips. The files are `--out`/RUN/MODEL/CONDITION.npz;
nothing else is written.
"""

from collections.abc import Sequence

from absl import flags

from robust_tfds import command, errors, kept_programs
from robust_tfds.storage import paths


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_list(
    "layers", ["features"], "Names of layers, the same for every model."
  )
  flags.DEFINE_list(
    "conditions",
    [],
    "Conditions by config name, e.g. clean,jumbling_5; default: the run's.",
  )
  flags.DEFINE_integer(
    "limit",
    0,
    "Number of examples, from the first on; default: 0, as many as the run.",
    0,
  )
  flags.DEFINE_string("out", None, "Folder for the features. Required.")


def main(argv: Sequence[str]) -> None:
  """Write the features of every run."""
  from eval.run.results import features

  settings = flags.FLAGS
  _, *runs = argv
  if not runs or not settings.out:
    raise errors.UserError(
      "Expected --out=FOLDER and a RUN or several: robust-tfds features"
      " --layers=features --out=/tmp/features RUN"
    )
  out = paths.parse(settings.out, "--out")
  places = [paths.parse(run, "RUN") for run in runs]
  if len({p.name for p in places}) < len(places):
    raise errors.UserError(
      f"Two runs have one name: {', '.join(runs)}. Their features would lie in one"
      " folder; rename one, or give each an --out of its own."
    )
  if where := kept_programs.keep():
    print(where)
  for place in places:
    for one in features.compute(
      place, settings.layers, settings.conditions, settings.limit
    ):
      widths = ", ".join(f"{n} {x.shape[1]}" for n, x in one.layers.items())
      file = one.write(out)
      print(f"{file}: {len(one.label):,} examples, channels: {widths}")


if __name__ == "__main__":
  command.run(main, define_flags)
