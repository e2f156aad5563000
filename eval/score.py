"""Scores predictions: a run's, again, or those of any other program.

  robust-tfds score --predictions=/runs/resnet50 --out=/tmp/again
  robust-tfds score --predictions=mine.csv --dataset=imagenet_c --out=/tmp/scored
  robust-tfds score --predictions=mine.csv --metadata=/data/manual --out=/tmp/vid
  robust-tfds score --predictions=my_model/ --predictions=other_model/ \\
      --dataset=coco_c --truth=instances_val2017.json --out=/tmp/scored

Needs no accelerator, model or pictures. What is read, each with its layout in its
file of `eval/readers/`:

  workdir      a folder of `robust-tfds run` or of this command; several are merged
  csv          classifications as CSV, NPZ or Parquet
  frames       predictions on ImageNet-Vid-Robust or YTBB-Robust, the same files
  coco         folders of COCO results lists, one file a cell; one list is clean
  class_maps   folders of class maps as PNG, a folder a condition
  raw_results  JSON of the detection paper's authors; also writes tables.md

Of what benchmark files are is said by --dataset, and held against what is known of
the set (`eval/run/results/benchmark_checks.py`); without, their numbers are plain means.

--out gets the table and the reports of a run, and of files the cells too: it
becomes a workdir then. An earlier score there is replaced. Models of several files
stand side by side.
"""

from collections.abc import Sequence

from absl import flags

from eval import readers
from robust_tfds import command
from robust_tfds.reading import column_files
from robust_tfds.storage import paths


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_multi_string(
    "predictions", None, "A file, a folder or a workdir. Required."
  )
  flags.DEFINE_string("out", None, "Folder of the result. Required.")
  flags.mark_flags_as_required(["predictions", "out"])
  flags.DEFINE_enum(
    "format",
    readers.AUTO,
    [readers.AUTO, *readers.names()],
    "What the files are; auto looks at them.",
  )
  flags.DEFINE_string(
    "dataset",
    None,
    "The set that the predictions are of, held against what is known of it;"
    " default: none (plain means), of frames imagenet_vid_robust.",
  )
  flags.DEFINE_string(
    "baseline",
    None,
    "A file of eval/papers/baselines/, model:LABEL, or empty; default: alexnet of"
    " csv where its numbers are of --dataset, a workdir's own.",
  )
  flags.DEFINE_integer("seed", None, "Seed column of the table; default: 0.")
  flags.DEFINE_string(
    "truth",
    None,
    "COCO instances file, of coco; of class_maps the masks' folder, or that of the"
    " official files of --dataset.",
  )
  flags.DEFINE_enum(
    "rules",
    None,
    ["coco", "voc"],
    "Whose AP, of coco; default: VOC's of pascal_c, else COCO's.",
  )
  flags.DEFINE_string(
    "subset",
    None,
    "Which of --dataset's examples there are: robustbench5k, or a file of ids;"
    " default: all.",
  )
  flags.DEFINE_string(
    "protocol", None, "Of class_maps, whose cells: fan_19, ...; default: ours."
  )
  flags.DEFINE_string("metadata", None, "Folder of the metadata, of frames.")
  flags.DEFINE_string(
    "columns",
    None,
    "What columns are called in the file: top1=prediction,label=truth; default: as"
    " in eval/readers/csv.py.",
  )
  flags.DEFINE_enum(
    "separator",
    None,
    [*column_files.SEPARATORS],
    "Between a CSV's values; default: the one that its header is written with.",
  )
  flags.DEFINE_string(
    "classes",
    None,
    "File of the classes' names, one a line, in label order; default, where labels"
    " are no numbers: the names of --dataset's classes, or the sorted labels.",
  )
  flags.DEFINE_string(
    "facts",
    None,
    "A RUN over the same pictures: the predictions stand beside it on boards. That"
    " they are of its pictures is your statement; ids and labels are held against"
    " it.",
  )


def main(argv: Sequence[str]) -> None:
  """Score, write and print the summary."""
  command.no_arguments(argv)
  from eval.cells.workdir import Workdir
  from eval.readers import base
  from eval.run.results import rescore

  settings = flags.FLAGS
  options = base.Options(
    dataset=settings.dataset,
    baseline=settings.baseline,
    seed=settings.seed,
    truth=paths.optional(settings.truth, "--truth"),
    rules=settings.rules,
    metadata=paths.optional(settings.metadata, "--metadata"),
    subset=settings.subset,
    columns=settings.columns,
    separator=settings.separator,
    protocol=settings.protocol,
    classes=paths.optional(settings.classes, "--classes"),
    facts=paths.optional(settings.facts, "--facts"),
  )
  predictions = [paths.parse(p, "--predictions") for p in settings.predictions]
  out = paths.parse(settings.out, "--out")
  print(rescore.score(predictions, out, options, settings.format))
  scored = Workdir(out)
  for pattern in ("report.html", "*/report.html"):  # one a data set
    for page in sorted(scored.reports.glob(pattern)):
      print(f"report: {page}")
  print(f"table:  {scored.table_path}")


if __name__ == "__main__":
  command.run(main, define_flags)
