"""`eval.score` on predictions that another framework made."""

import pathlib

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from eval import score
from eval.metrics import corruption_error
from eval.results import table


def _columns(names=corruption_error.COMMON, n=20) -> dict:
  """Clean: half wrong. Severity s of every corruption: one more of ten each."""
  rows = {
    k: [] for k in ("corruption", "severity", "example_id", "label", "top1")
  }
  cells = [("", 0)] + [(c, s) for c in names for s in range(1, 6)]
  for corruption, severity in cells:
    for i in range(n):
      wrong = i % 10 < 5 + severity // 2
      rows["corruption"].append(corruption)
      rows["severity"].append(severity)
      rows["example_id"].append(f"x{i}")
      rows["label"].append(i % 7)
      rows["top1"].append((i + wrong) % 7)
  return rows


class ScoreTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _csv(self, columns, name="their_model.csv") -> pathlib.Path:
    path = self.root / name
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values())]
    path.write_text("\n".join(lines) + "\n")
    return path

  def _rows(self, path):
    return score.rows(
      score.read(path), dataset="imagenet_c", baseline="alexnet"
    )

  def test_csv_gives_the_table(self):
    rows = self._rows(self._csv(_columns()))
    clean = table.select(rows, config="clean", metric="error")[0]
    self.assertEqual(
      (clean.model, clean.value, clean.n), ("their_model", 0.5, 20)
    )
    fog = table.select(rows, config="fog_4", metric="error")[0]
    self.assertEqual(fog.value, 0.7)
    errors = {n: [0.5, 0.6, 0.6, 0.7, 0.7] for n in corruption_error.COMMON}
    want = corruption_error.summarize(errors, 0.5)
    mce = table.select(rows, metric="mce")[0]
    self.assertAlmostEqual(mce.value, want["mce"], delta=1e-12)
    relative = table.select(rows, metric="relative_mce")[0]
    self.assertAlmostEqual(relative.value, want["relative_mce"], delta=1e-12)

  def test_npz_equals_csv(self):
    columns = _columns(("fog",))
    path = self.root / "their_model.npz"
    np.savez(path, **{k: np.array(v) for k, v in columns.items()})
    self.assertEqual(self._rows(path), self._rows(self._csv(columns)))

  def test_top5_error_where_there_are_five_ranks(self):
    columns = _columns(())
    for k in range(2, 6):
      columns[f"top{k}"] = [100 + k] * 20
    columns["top3"] = columns["label"]
    rows = self._rows(self._csv(columns))
    self.assertEqual(table.select(rows, metric="top5_error")[0].value, 0.0)

  def test_without_all_fifteen_there_is_no_mce(self):
    rows = self._rows(self._csv(_columns(("fog", "snow"))))
    self.assertEmpty(table.select(rows, metric="mce"))
    self.assertLen(table.select(rows, metric="ce"), 2)

  @parameterized.parameters(
    ("top1", None, "lacks the columns top1"),
    ("label", "cat", "not a number"),
    ("label", 1.5, "expected a whole number"),
    ("corruption", "fogg", "Did you mean 'fog'"),
    ("severity", 9, "severity 9"),
    ("example_id", "x0", "more than one prediction"),
  )
  def test_bad_files(self, column, value, message):
    columns = _columns(("fog",))
    if value is None:
      del columns[column]
    else:
      columns[column][-1] = value
    with self.assertRaisesRegex(ValueError, message):
      self._rows(self._csv(columns))

  def test_other_kinds(self):
    path = self._csv(_columns(()), "x.txt")
    with self.assertRaisesRegex(ValueError, "Unknown kind of predictions file"):
      score.read(path)
    with self.assertRaisesRegex(FileNotFoundError, "does not exist"):
      score.read(self.root / "none.csv")
    empty = self.root / "empty.csv"
    empty.write_text("corruption,severity,example_id,label,top1\n")
    with self.assertRaisesRegex(ValueError, "holds no rows"):
      score.read(empty)

  def test_pickles_are_refused(self):
    path = self.root / "evil.npz"
    np.savez(path, top1=np.array([object()], dtype=object))
    with self.assertRaisesRegex(ValueError, "allow_pickle"):
      score.read(path)


if __name__ == "__main__":
  absltest.main()
