"""Score predictions of a run or of any other program.

  robust-tfds score --predictions=/runs/resnet50 --out=/tmp/again
  robust-tfds score --predictions=mine.csv --dataset=imagenet_c --out=/tmp/scored
  robust-tfds score --predictions=mine.csv --metadata=/data/manual --out=/tmp/vid
  robust-tfds score --predictions=my_model/ --predictions=other_model/ \\
      --dataset=coco_c --truth=instances_val2017.json --out=/tmp/scored

This needs no accelerator, model or pictures. The formats, each with its layout in
its file of `eval/readers/`:

  workdir      folder of `robust-tfds run` or of this command; several are merged
  csv          classifications as CSV, NPZ or Parquet
  frames       the same for ImageNet-Vid-Robust or YTBB-Robust
  coco         folders of COCO results lists, one file per cell; a single list is clean
  class_maps   folders of class maps as PNG, one folder per condition
  raw_results  JSON of the detection paper's authors; also writes tables.md

--dataset names the benchmark of the predictions. Their ids, labels and classes are
checked against it (`eval/run/results/benchmark_checks.py`). Without it the numbers
are plain means.

--out gets the table and the reports. If files were scored, it also gets their cells
and is a workdir. An earlier score in it is replaced. Models of several files are
shown side by side.
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
    "Format of the files; auto detects it.",
  )
  flags.DEFINE_string(
    "dataset",
    None,
    "The benchmark that the predictions belong to; ids, labels and classes are"
    " checked against it. Default: none (plain means); for frames"
    " imagenet_vid_robust.",
  )
  flags.DEFINE_string(
    "baseline",
    None,
    "What normalises the errors: a file of eval/papers/baselines/, model:LABEL, or"
    " empty. Default: a workdir's own; for csv alexnet, if it has numbers for"
    " --dataset.",
  )
  flags.DEFINE_integer(
    "seed", None, "Seed to write into the table; default: 0."
  )
  flags.DEFINE_string(
    "truth",
    None,
    "Ground truth. For coco: the instances file. For class_maps: the folder of masks,"
    " or of the official files of --dataset.",
  )
  flags.DEFINE_enum(
    "rules",
    None,
    ["coco", "voc"],
    "Definition of AP, for coco; default: voc for pascal_c, else coco.",
  )
  flags.DEFINE_string(
    "subset",
    None,
    "The examples of --dataset that were predicted: robustbench5k, or a file of ids;"
    " default: all.",
  )
  flags.DEFINE_string(
    "protocol",
    None,
    "Segmentation protocol, for class_maps: fan_19, ...; default: ours.",
  )
  flags.DEFINE_string("metadata", None, "Folder of the metadata, for frames.")
  flags.DEFINE_string(
    "columns",
    None,
    "Names of the columns in the file: top1=prediction,label=truth. Default: the"
    " names in eval/readers/csv.py.",
  )
  flags.DEFINE_enum(
    "separator",
    None,
    [*column_files.SEPARATORS],
    "Separator of a CSV's values; default: the one in its header.",
  )
  flags.DEFINE_string(
    "classes",
    None,
    "File of class names, one per line, in label order. Default, if labels are not"
    " numbers: the class names of --dataset, else the sorted labels.",
  )
  flags.DEFINE_string(
    "facts",
    None,
    "A RUN over the same pictures, beside which boards show the predictions. Ids and"
    " labels are checked; that the pictures were the same is your statement.",
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
