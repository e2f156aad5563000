"""Compare runs on a board; export and check submissions.

  robust-tfds board /runs/resnet50 /runs/vit_b_16 --out=/tmp/board --site=/tmp/site
  robust-tfds board --export=/runs/mine --out=/tmp/mine --trained_on=mine=ImageNet
  robust-tfds board --check=/tmp/mine --rerun=3

A RUN is a workdir of `run` or `score`, or a submission. Name the shards of one run
one after the other. --out gets CSVs, --site gets pages that open from a disk; either
may be left out. Models are ranked together only if all facts of their data agree.
Otherwise there are several boards, headed by what differs. Everything is computed
from the predictions: no accelerator, data, weights or network is needed. A run or
model that cannot be read or scored is set aside. The screen, the first page and
aside.csv give the reason. It is an error only if no run is left.

--export writes a submission, --check verifies one (docs/RESULTS.md). A submission
with a fault ends with an exit status other than 0, the file and the reason.
"""

from collections.abc import Sequence

from absl import flags

from eval.compare import boards
from robust_tfds import command, errors
from robust_tfds.storage import paths


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_string(
    "out",
    None,
    "Folder for the CSVs, or for the submission; default: no files.",
  )
  flags.DEFINE_string("site", None, "Folder for the pages; default: no pages.")
  flags.DEFINE_enum(
    "reference",
    "",
    ["", *boards.REFERENCES],
    "Models that the line of effective robustness is fitted to. standard: the 78 of"
    " Taori et al. 2020; testbed: all its 335. Default: the first of these with three"
    " models or more.",
  )
  flags.DEFINE_multi_string(
    "export",
    None,
    "A RUN to export as a submission; repeat it for the shards of a run.",
  )
  flags.DEFINE_multi_string(
    "trained_on",
    [],
    "LABEL=WORDS: what a model was trained on, if its run does not know.",
  )
  flags.DEFINE_multi_string(
    "corruptions_seen",
    [],
    "LABEL=NAMES: conditions that a model was trained on, e.g. mine=fog,frost or"
    " mine=none.",
  )
  flags.DEFINE_string("check", None, "Submission to verify.")
  flags.DEFINE_integer(
    "rerun",
    0,
    "Number of cells of the submission to compute again, which needs weights and"
    " data; default: 0.",
    lower_bound=0,
  )
  flags.DEFINE_integer(
    "rerun_seed",
    None,
    "Seed that draws these cells, to repeat a check; default: a new one each time.",
    lower_bound=0,
  )
  flags.DEFINE_string(
    "own_data",
    "",
    "Place of the data for --rerun if they are no benchmark: folder:/data/pets,"
    " coco:/data/mine.json,images=/data/images.",
  )


def main(argv: Sequence[str]) -> None:
  """Make a board, or export or check a submission; print the result."""
  settings, runs = flags.FLAGS, list(argv[1:])
  _check(settings, runs)
  if settings.check:
    from eval.submissions import checker

    folder = paths.parse(settings.check, "--check")
    print(
      checker.check(
        folder, settings.rerun, settings.rerun_seed, settings.own_data
      )
    )
    return
  if settings.export:
    from eval.submissions import writer

    print(
      writer.export(
        [paths.parse(run, "--export") for run in settings.export],
        paths.parse(settings.out, "--out"),
        _parse_by_label(settings.trained_on, "trained_on"),
        {
          label: names.split(",")
          for label, names in _parse_by_label(
            settings.corruptions_seen, "corruptions_seen"
          ).items()
        },
      )
    )
    return
  _boards(settings, runs)


def _parse_by_label(flag_values: Sequence[str], flag: str) -> dict[str, str]:
  """Parse a flag about models: label -> words.

  Raises:
    UserError: not LABEL=WORDS, or a label twice.
  """
  out: dict[str, str] = {}
  for text in flag_values:
    label, equals, words = text.partition("=")
    if not (label and equals and words.strip()):
      raise errors.UserError(f"--{flag}={text}: expected LABEL=WORDS.")
    if label in out:
      raise errors.UserError(f"--{flag}: {label} is named twice.")
    out[label] = words.strip()
  return out


def _check(settings: flags.FlagValues, runs: Sequence[str]) -> None:
  """Refuse flags that do not go together.

  Raises:
    UserError: says which.
  """
  modes = [n for n in ("export", "check") if settings[n].value]
  if len(modes) + bool(runs) != 1:
    raise errors.UserError(
      "robust-tfds board does one thing at a time: RUNs to set side by side,"
      " --export=RUN --out=DIR, or --check=DIR. Got"
      f" {', '.join([*(f'--{m}' for m in modes), *runs]) or 'none of them'}."
    )
  if settings.rerun and not settings.check:
    raise errors.UserError("--rerun needs --check=DIR: name the submission.")
  if settings.rerun_seed is not None and not settings.rerun:
    raise errors.UserError("--rerun_seed needs --rerun=K: say how many cells.")
  if settings.own_data and not settings.rerun:
    raise errors.UserError("--own_data needs --rerun=K: say how many cells.")
  if settings.export and not settings.out:
    raise errors.UserError("--export=RUN needs --out=DIR, the submission.")
  for name in ("trained_on", "corruptions_seen"):
    if settings[name].value and not settings.export:
      raise errors.UserError(f"--{name} needs --export=RUN: name the run.")
  if settings.site and modes:
    raise errors.UserError(f"--site needs RUNs, not --{modes[0]}.")


def _boards(settings: flags.FlagValues, runs: Sequence[str]) -> None:
  from eval.compare import runs as runs_lib
  from eval.compare import scores
  from eval.compare.boards import build, exclusions, tables
  from eval.report.pages import site as site_lib

  out = paths.parse(settings.out, "--out") if settings.out else None
  site = paths.parse(settings.site, "--site") if settings.site else None
  excluded: list[exclusions.Exclusion] = []
  listed = runs_lib.read(runs, excluded)
  exclusions.check_any_left(listed, excluded)
  runs_lib.check_outside([*listed, *excluded], out=out, site=site)
  scored = scores.score_runs(listed, excluded)
  exclusions.check_any_left(scored, excluded)
  boards = build.boards(scored, settings.reference)
  for board in boards:
    print(tables.summary(board))
  for one in excluded:
    print(f"set aside: {one}")
  if out:
    print(f"{len(tables.write(boards, out, excluded))} CSVs in {out}")
  if site:
    written = site_lib.write(boards, site, excluded)
    print(f"{len(written)} files in {site}: index.html")


if __name__ == "__main__":
  command.run(main, define_flags)
