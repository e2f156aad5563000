"""Compare two runs over the same examples: any task, two models or many.

  robust-tfds compare /runs/augmix /runs/plain --out=/tmp/compared
  robust-tfds compare RUN RUN --out=DIR --models=A,B   # A of the first run
  robust-tfds compare RUN [RUN ...] --reference=RUN --out=DIR   # natural sets

A RUN is a workdir of `run` or `score`, or a submission; shards of one run are
separated by commas. Without --models, models with equal labels are paired, or the
only model of each run. The command reads predictions, and
needs no model and no data.

For every cell it reports both values, their difference with its interval, and a
test. Right and wrong answers have McNemar's exact test. Other numbers have a
permutation test, which exchanges the models' results on whole groups and decides
only if the interval excludes 0. Average precision has only the interval. Holm's
adjustment is over all cells. For every headline number (mCE, mFR, mPC, pm-k,
gamma, ...) it reports difference and relative decrease with intervals; both models
share the bootstrap draws. Runs over UCF101-DS are compared by category, with
Figure 12's gamma_r of Schiappa et al. 2023 (first: trained on clean data, second:
on perturbed data).

Runs with different tasks, examples, labels or facts of the data (codec, views,
edition, version, ...) are refused. Seeds may differ, and the output says so. It is
comparison.csv, comparison.md and a figure for each pair of models.

With --reference, runs over natural sets (docs/OWN_DATA.md) are compared with
runs of the same models over ImageNet's validation pictures of the same classes:
both accuracies, the drop with its interval, and from three models on each one's
distance above their line. The output is natural.csv and natural.md.
"""

from collections.abc import Sequence

from absl import flags

from robust_tfds import command, errors
from robust_tfds.storage import paths


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_string(
    "out", None, "Folder of the comparison. Required.", required=True
  )
  flags.DEFINE_string(
    "models",
    "",
    "A,B: model A of the first run, B of the second. Default: models with equal"
    " labels, or the only model of each run.",
  )
  flags.DEFINE_string(
    "reference",
    "",
    "Runs over ImageNet's pictures to compare natural sets with, separated by"
    " commas. Default: none; two runs are compared.",
  )


def main(argv: Sequence[str]) -> None:
  """Compare the two named runs."""
  from eval.compare import natural, runs
  from eval.compare.pairs import compare, tables

  settings = flags.FLAGS
  out = paths.parse(settings.out, "--out")
  if settings.reference:
    references = runs.read(settings.reference.split(","))
    natural_runs = runs.read(argv[1:])
    runs.check_outside([*natural_runs, *references], out=out)
    print(natural.write(natural.lines(natural_runs, references), out))
    return
  if len(argv) != 3:
    raise errors.UserError(
      f"Got {len(argv) - 1} runs, expected two: robust-tfds compare RUN RUN"
      " --out=DIR."
    )
  both = runs.read_pair(argv[1], argv[2])
  runs.check_outside(both, out=out)
  print(tables.write(compare.runs(*both, settings.models), out))


if __name__ == "__main__":
  command.run(main, define_flags)
