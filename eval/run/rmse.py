"""Figure 6: RMSE of corrupted pixels against a detector's relative performance.

  python -m eval.run.rmse --dataset=digits_detection_c --limit=50 --out=/tmp/rmse \\
      --table=/tmp/detection/table.csv

Writes rmse.csv: corruption, severity, the mean over images of the RMSE between
clean and corrupted pixels in levels 0..255, in floating point (the paper's own
table wraps in uint8: docs/FIDELITY.md). With the table of a detection run also
rmse.png: relative performance against RMSE, both averaged over severities.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

import jax.numpy as jnp
import numpy as np
from absl import flags
from etils import epath

from eval.cells import table
from eval.charts import scatter
from eval.metrics import definitions, detection
from eval.pipeline import inputs
from robust_tfds import command, conditions, corruptions, datasets, strings
from robust_tfds.charts import style
from robust_tfds.charts.frame import INSIDE, Frame
from robust_tfds.storage import paths


def measure(
  dataset: str,
  names: Sequence[str],
  *,
  split: str | None = None,
  limit: int = 50,
  data_dir: str | None = None,
  manual_dir: str | None = None,
  seed: int = 0,
) -> Mapping[tuple[str, int], float]:
  """Return the mean RMSE in levels by (corruption, severity).

  Args:
    dataset: a corrupted dataset.
    names: corruptions.
    split: its split; the only one if None.
    limit: how many images.
    data_dir: TFDS data folder.
    manual_dir: where sources lie.

  Raises:
    UserError: an unknown dataset.
    FileNotFoundError: the sources are not there.
  """
  built = datasets.prepare(
    dataset, "clean", data_dir=data_dir, manual_dir=manual_dir, codec="raw"
  )
  split = split or next(iter(built.info.splits))
  most = min(limit, built.info.splits[split].num_examples)
  source = inputs.Source(built, split, batch_size=1, limit=most)
  edition = datasets.builder_class(dataset).edition_of("")

  listed = [
    conditions.PICTURES.condition(name, severity)
    for name in names
    for severity in conditions.SEVERITIES
  ]

  def pairs() -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
    for example in source.rows():
      image = np.asarray(example["image"])
      name = strings.text(example["example_id"])
      for condition in listed:
        corrupted = corruptions.corrupt(
          image,
          condition.name,
          condition.level,
          edition=edition,
          key=jnp.asarray(condition.key(seed, dataset, name)),
        )
        yield condition.name, condition.level, image, np.asarray(corrupted)

  return detection.rmse_table(pairs())


def figure(
  distances: Mapping[tuple[str, int], float],
  rows: Sequence[table.Row],
  folder: epath.Path,
) -> epath.Path:
  """Draw Figure 6: relative performance over RMSE by corruption and model."""
  points = []
  for i, model in enumerate(dict.fromkeys(r.model for r in rows)):
    model_rows = [r for r in rows if r.model == model]
    (clean,) = [r.value for r in model_rows if r.metric == "p"][:1] or [0.0]
    for r in model_rows if clean else ():
      cells = [v for (n, _), v in distances.items() if n == r.corruption]
      if r.metric == "mean_ap" and cells:
        x, y = float(np.mean(cells)), 100 * r.value / clean
        at = style.Value(x), style.Value(y)
        name = definitions.words(r.corruption)
        points.append(scatter.Point(*at, i, model, name))
  frame = Frame(
    *(7, 4.6),
    x="RMSE to the clean image (levels), mean over severities",
    y="performance relative to clean (%)",
    legend=INSIDE,
  )
  fig = scatter.draw([scatter.Panel(points)], frame)
  return style.save(fig, folder, "rmse", [])[0]


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_string("dataset", None, "A corrupted dataset, e.g. coco_c.")
  flags.DEFINE_string(
    "split", None, "Split of the dataset; default: the only one."
  )
  flags.DEFINE_integer("limit", 50, "Number of images to measure.")
  flags.DEFINE_string(
    "corruptions",
    "all",
    "Corruptions: a set (common, extra, all), families or names.",
  )
  flags.DEFINE_string("data_dir", None, "TFDS data folder.")
  flags.DEFINE_string("manual_dir", None, "Folder of the sources.")
  flags.DEFINE_string("table", None, "table.csv of a detection run.")
  flags.DEFINE_string("out", None, "Folder for rmse.csv and rmse.png.")
  flags.mark_flags_as_required(["dataset", "out"])


def main(argv: Sequence[str]) -> None:
  """Measure, write and print."""
  command.no_arguments(argv)
  settings = flags.FLAGS
  out = paths.parse(settings.out, "--out")
  distances = measure(
    settings.dataset,
    conditions.PICTURES.resolve(settings.corruptions),
    split=settings.split,
    limit=settings.limit,
    data_dir=settings.data_dir,
    manual_dir=settings.manual_dir,
  )
  out.mkdir(parents=True, exist_ok=True)
  lines = io.StringIO()
  writer = csv.writer(lines, lineterminator="\n")
  writer.writerow(["corruption", "severity", "rmse"])
  for (name, severity), value in distances.items():
    writer.writerow([name, severity, f"{value:.4f}"])
  (out / "rmse.csv").write_text(lines.getvalue(), "utf-8")
  if settings.table:
    rows = [r for r in table.read(settings.table) if r.has_value]
    figure(distances, rows, out)
  print(lines.getvalue(), end="")


if __name__ == "__main__":
  command.run(main, define_flags)
