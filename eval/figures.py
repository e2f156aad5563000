"""Draw figures and tables of the papers, with your runs in them.

  robust-tfds figures --list                          # every figure
  robust-tfds figures shankar_f3 --out=/tmp/f RUN     # one, with a run added
  robust-tfds figures schiappa --out=/tmp/f           # all of a paper
  robust-tfds figures all --out=/tmp/f RUN RUN
  ... --condition=gaussian_noise_5                    # which condition a figure shows
  ... --reference=printed                             # which line is drawn
  ... --clean=FOLDER --stylized=FOLDER                # pictures of michaelis_f4
  ... --features=FOLDER --classes=Archery,Bowling     # files of robust-tfds features

A RUN is a workdir, a submission, or the shards of a run, as for `robust-tfds board`.
Figures are PNG and SVG, tables are Markdown. Each has a CSV with its numbers and
their source. This reads no data except the pictures of --clean and --stylized, and
needs no weights and no accelerator.
"""

from collections.abc import Sequence

from absl import flags
from etils import epath

from eval.compare import boards
from robust_tfds import command, errors
from robust_tfds.storage import paths


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_string(
    "out", None, "Folder for the files. Required, except with --list."
  )
  flags.DEFINE_bool("list", False, "List the figures and exit.")
  flags.DEFINE_string(
    "condition",
    "",
    "Condition to show, e.g. jpeg_5; default: the figure's own.",
  )
  flags.DEFINE_enum(
    "reference",
    "",
    ["", *boards.REFERENCES],
    "Models that a line is fitted to, see robust-tfds board --help; default: the"
    " figure's own.",
  )
  flags.DEFINE_string(
    "clean", "", "Folder of training pictures, for michaelis_f4."
  )
  flags.DEFINE_string(
    "stylized", "", "Folder of their stylized versions, for michaelis_f4."
  )
  flags.DEFINE_string(
    "features",
    "",
    "Folder that robust-tfds features wrote, for schiappa_f9_cka, f18 and f20.",
  )
  flags.DEFINE_list(
    "classes",
    [],
    "Classes that schiappa_f18 and f20 show; default: the first ten.",
  )


def main(argv: Sequence[str]) -> None:
  """Draw the figures that the arguments name."""
  from eval.report import figures
  from eval.report.figures import base, drawing

  settings = flags.FLAGS
  _, *names = argv
  if settings.list or not names:
    print(figures.listing())
    return
  chosen = figures.select(names[0])
  if not settings.out:
    raise errors.UserError("--out is missing: name the folder of the figures.")
  named = base.Request(
    condition=settings.condition,
    reference=settings.reference,
    clean=_folder("clean"),
    stylized=_folder("stylized"),
    features=_folder("features"),
    classes=settings.classes,
  )
  request = drawing.add_runs(named, names[1:])
  place = paths.parse(settings.out, "--out")
  drawing.draw(chosen, request, place, say=print)


def _folder(name: str) -> epath.Path | None:
  """Return a folder that a flag names, if it does."""
  text = flags.FLAGS[name].value
  return paths.parse(text, f"--{name}") if text else None


if __name__ == "__main__":
  command.run(main, define_flags)
