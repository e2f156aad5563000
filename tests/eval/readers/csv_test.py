"""Classifications of another program: the schema, its values, refusals.

Files that are no table are refused in tests/reading/files_test.py.
"""

import dataclasses
import pathlib
from unittest import mock

from etils import epath

from eval.cells import table
from eval.metrics import corruption_error
from eval.readers import base
from eval.readers import csv as csv_reader
from eval.tasks import classification
from robust_tfds import conditions, errors
from tests import in_folder


def rows_of(names, n=20) -> dict[str, list]:
  """Clean: half wrong. Severity s of every corruption: one more of ten each."""
  rows = {
    k: [] for k in ("corruption", "severity", "example_id", "label", "top1")
  }
  cells = [("", 0)] + [(c, s) for c in names for s in conditions.SEVERITIES]
  for corruption, severity in cells:
    for i in range(n):
      wrong = i % 10 < 5 + severity // 2
      rows["corruption"].append(corruption)
      rows["severity"].append(severity)
      rows["example_id"].append(f"x{i}")
      rows["label"].append(i % 7)
      rows["top1"].append((i + wrong) % 7)
  return rows


def write(rows: dict[str, list], path: pathlib.Path) -> pathlib.Path:
  """The rows as CSV."""
  lines = [",".join(rows)]
  lines += [",".join(map(str, row)) for row in zip(*rows.values())]
  path.write_text("\n".join(lines) + "\n")
  return path


class CsvReaderTest(in_folder.TestCase):
  def _csv(self, rows, name="their_model.csv") -> pathlib.Path:
    return write(rows, self.root / name)

  def _read(self, *paths, **options) -> base.Run:
    return csv_reader.CsvReader().read(paths, base.Options(**options))

  def _rows(self, *paths, **options) -> list[table.Row]:
    return self._read(*paths, **options).rows()

  def test_csv_gives_the_table(self):
    common = conditions.PICTURES.names("common")
    rows = self._rows(self._csv(rows_of(common)), dataset="imagenet_c")
    clean = table.select(rows, config="clean", metric="error")[0]
    self.assertEqual(
      (clean.model, clean.value, clean.n), ("their_model", 0.5, 20)
    )
    fog = table.select(rows, config="fog_4", metric="error")[0]
    self.assertEqual(fog.value, 0.7)
    errors = {n: [0.5, 0.6, 0.6, 0.7, 0.7] for n in common}
    expected = corruption_error.summarize(errors, 0.5)
    for metric in ("mce", "relative_mce"):
      row = table.select(rows, metric=metric)[0]
      self.assertAlmostEqual(row.value, expected[metric], delta=1e-12)

  def test_top5_error_where_there_are_five_ranks(self):
    rows = rows_of(())
    for k in range(2, 6):
      rows[f"top{k}"] = [100 + k] * 20
    rows["top3"], rows["top1"] = rows["label"], [100] * 20
    scored = self._rows(self._csv(rows))
    self.assertEqual(table.select(scored, metric="top5_error")[0].value, 0.0)

  def test_without_all_fifteen_there_is_no_mce(self):
    path = self._csv(rows_of(("fog", "snow")))
    rows = self._rows(path, dataset="imagenet_c")
    (mce,) = table.select(rows, metric="mce")
    self.assertFalse(mce.has_value)
    self.assertIn("all but snow 1-5, fog 1-5 (65 of 75)", mce.note)
    self.assertLen(table.select(rows, metric="ce"), 2)

  def test_a_corruption_of_ones_own_enters_no_mean(self):
    common = conditions.PICTURES.names("common")
    options = {"dataset": "imagenet_c"}
    before = self._rows(self._csv(rows_of(common)), **options)
    rows = (
      *conditions.PICTURES.rows,
      conditions.Row("invert", "digital", "own"),
    )
    family = dataclasses.replace(conditions.PICTURES, rows=rows)
    with (
      mock.patch.object(conditions, "PICTURES", family),
      mock.patch.dict(conditions.FAMILIES, {"pictures": family}),
      mock.patch.object(classification.Classification, "family", family),
    ):
      path = self._csv(rows_of((*common, "invert")))
      after = self._rows(path, **options)
    (row,) = table.select(after, metric="mean_error", corruption="invert")
    self.assertAlmostEqual(row.value, 0.62)
    for metric in ("mce", "mean_corruption_error"):
      self.assertEqual(
        table.select(after, metric=metric)[0].value,
        table.select(before, metric=metric)[0].value,
      )

  def test_options(self):
    path = self._csv(rows_of(("fog",)))
    rows = self._rows(path, dataset="mine_c", seed=3, baseline="")
    self.assertEqual({(r.dataset, r.seed) for r in rows}, {("mine_c", 3)})
    self.assertEmpty(table.select(rows, metric="ce"))
    with self.assertRaisesRegex(ValueError, "--rules=voc has no meaning for a"):
      self._read(path, rules="voc")

  def test_class_folders_that_are_numbers_are_names(self):
    names = [str(year) for year in range(2010, 2022)] + ["7"]
    rows = {
      "corruption": [""] * 13,
      "severity": [0] * 13,
      "example_id": [f"{name}/a.png" for name in names],
      "label": names,
      "top1": names,
    }
    run = self._read(self._csv(rows))
    (error,) = table.select(run.rows(), config="clean", metric="error")
    self.assertEqual(error.value, 0)
    self.assertEqual(list(run.class_names), sorted(names))
    rows["top1"] = range(13)
    with self.assertRaisesRegex(errors.UserError, "row 1 .*class '0'"):
      self._read(self._csv(rows))
    listed = self.root / "names.txt"
    listed.write_text("2.0\n1.0\n")
    rows = {key: values[:2] for key, values in rows.items()}
    rows |= {"label": ["1.0", "2.0"], "top1": ["1.0", "1.0"]}
    columns = self._read(self._csv(rows), classes=epath.Path(listed)).columns
    cell = self._read(self._csv(rows), classes=epath.Path(listed)).cells[0]
    self.assertEqual(columns(cell)["label"].tolist(), [1, 0])

  def test_classes_are_numbered_as_the_named_set_does(self):
    rows = rows_of(())
    rows |= {k: ["cat", "truck"] * 10 for k in ("label", "top1")}
    path = self._csv(rows)
    path = path.rename(path.with_suffix(".tsv"))
    path.write_text(path.read_text().replace(",", "\t"))
    for dataset, expected in (("cifar10_c", {3, 9}), (None, {0, 1})):
      run = self._read(path, dataset=dataset)
      labels = run.columns(run.cells[0])["label"].tolist()
      self.assertEqual(set(labels), expected)
