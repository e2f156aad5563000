"""`eval.score` as a command: what it scores, and what it refuses in words."""

import contextlib
import dataclasses
import gzip
import io
import os
import pathlib
import re
import types
from collections.abc import Iterator
from unittest import mock

import numpy as np
from absl import flags
from absl.testing import parameterized
from etils import epath

from eval import score
from eval.cells import table
from eval.cells import workdir as workdir_lib
from eval.readers import base
from eval.report import reports
from robust_tfds import conditions, errors
from tests import in_folder, in_process, shared_data
from tests.eval.readers import csv_test
from tests.eval.report.reports import without_pictures
from tests.faults import scored
from tests.faults.case import QUOTES_PYTHON

_HEADER = "corruption,severity,example_id,label,top1\n"
# Clean and fog 1 of four examples, all right.
_GOOD = _HEADER + "".join(
  f"{name},{severity},x{i},{i},{i}\n"
  for name, severity in (("", 0), ("fog", 1))
  for i in range(4)
)
# The same with names of classes; and a condition without predictions.
_NAMED = re.sub(r",(\d),(\d)\n", r",a\1,a\2\n", _GOOD)
_UNASKED = "".join(f"fog,2,x{i},{i},\n" for i in range(4))


def _changed(old, new) -> bytes:
  assert old in _GOOD, old
  return _GOOD.replace(old, new).encode()


def _bad_files() -> Iterator[tuple[str, bytes, str]]:
  """Name, bytes and what is said of the good file with one text replaced."""
  path = pathlib.Path(__file__).with_name("bad_csv.tsv")
  for row in shared_data.lines(path):
    old, new = (
      row[k].encode().decode("unicode_escape") for k in ("old", "new")
    )
    yield row["name"], _changed(old, new), row["message"]


def _with(column, value) -> bytes:
  """With one more column."""
  first, *lines = _GOOD.splitlines()
  return "\n".join(
    [f"{first},{column}", *(f"{line},{value}" for line in lines)]
  ).encode()


def _numbered() -> bytes:
  """With the column without a name that data frames write."""
  first, *lines = _GOOD.splitlines()
  numbered = (f"{i},{line}" for i, line in enumerate(lines))
  return "\n".join([f",{first}", *numbered]).encode()


def _columns(**changes) -> dict[str, np.ndarray]:
  """The same as arrays, some of them changed."""
  return {
    "corruption": np.array([""] * 4 + ["fog"] * 4),
    "severity": np.array([0] * 4 + [1] * 4),
    "example_id": np.array([f"x{i % 4}" for i in range(8)]),
    "label": np.arange(8) % 4,
    "top1": np.arange(8) % 4,
    **changes,
  }


def _settings(**changes) -> types.SimpleNamespace:
  fields = dataclasses.fields(base.Options)
  return types.SimpleNamespace(
    **{**{f.name: None for f in fields}, "format": "auto", **changes}
  )


class CommandTest(in_folder.TestCase):
  """The command run in-process, without the figures."""

  def setUp(self):
    super().setUp()
    self.out = self.root / "out"
    self.enterContext(mock.patch.object(reports, "write_all", self._summary))

  def _summary(self, context, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.txt").write_text("\n".join(context.provenance))

  def _score(self, *paths, **settings) -> str:
    settings = _settings(
      **{"predictions": [str(p) for p in paths], "out": str(self.out)}
      | settings
    )
    screen = io.StringIO()
    with mock.patch.object(flags, "FLAGS", settings):
      with contextlib.redirect_stdout(screen):
        score.main(["score"])
    return screen.getvalue()

  def _file(self, data=_GOOD, name="mine.csv") -> pathlib.Path:
    path = self.root / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path

  def _npz(self, **changes) -> pathlib.Path:
    path = self.root / "mine.npz"
    np.savez(path, **_columns(**changes))
    return path

  def _parquet(self, **changes) -> pathlib.Path:
    import pyarrow as pa
    from pyarrow import parquet

    path = self.root / "mine.parquet"
    columns = {k: np.asarray(v).tolist() for k, v in _columns().items()}
    parquet.write_table(pa.table({**columns, **changes}), path)
    return path

  def _table(self) -> list[table.Row]:
    return table.read(self.out / "table.csv")

  def _refused(self, message, *paths, **settings):
    with self.assertRaisesRegex(errors.UserError, message) as caught:
      self._score(*paths, **settings)
    self.assertNotRegex(str(caught.exception), QUOTES_PYTHON)
    self.assertFalse((self.out / "table.csv").exists())

  @parameterized.named_parameters(
    ("bom", b"\xef\xbb\xbf" + _GOOD.encode()),
    ("crlf", _GOOD.replace("\n", "\r\n").encode()),
    ("blank_lines", _GOOD.encode() + b"\n\n"),
    ("floats", _changed("x1,1,1", "x1,1.0,1.0")),
    ("a_comma", _changed("x1", '"x,1"')),
    ("clean", _changed("\n,0", "\nclean,0")),
    ("numbered_rows", _numbered()),
    ("semicolons", _GOOD.replace(",", ";").encode()),
    ("tabs", _GOOD.replace(",", "\t").encode(), {"separator": "tab"}),
    ("names", _NAMED.encode()),
    ("names_of_a_file", _NAMED.encode(), {"classes": "names.txt"}),
    (
      "other_columns",
      _GOOD.replace("example_id", "filename").replace("top1", "Top-1").encode(),
      {"columns": "example_id=filename,top1=Top-1"},
    ),
    ("a_condition_is_empty", _GOOD.encode() + _UNASKED.encode()),
  )
  def test_whole_files(self, data, settings=()):
    (self.root / "names.txt").write_text("a3\na1\na0\na2\nother\n")
    settings = dict(settings)
    if "classes" in settings:
      settings["classes"] = str(self.root / "names.txt")
    self._score(self._file(data), **settings)
    (row,) = table.select(self._table(), config="fog_1", metric="error")
    self.assertEqual((row.value, row.n), (0.0, 4))

  @parameterized.named_parameters(
    ("empty", b"", "mine.csv: empty"),
    ("header_only", _HEADER.encode(), "mine.csv has no rows"),
    ("header_twice", _GOOD.replace("\n", "\n" + _HEADER, 1).encode(), "row 1"),
    ("numbered", _numbered().replace(b"2,2\n", b"2\n"), "mine.csv: line 4: 5 v"),
    ("no_model", _with("model", " "), "column 'model', row 1: empty"),
    ("utf16", _GOOD.encode("utf-16"), "mine.csv: this is UTF-16"),
    ("latin1", _changed("x1", "xé").decode().encode("latin1"), "is not UTF-8"),
    ("gzip", gzip.compress(_GOOD.encode()), "mine.csv: this is a gzip file"),
    ("huge", _changed("x1,1,1", f"x1,1,1{'0' * 20}"), "row 2 .*whole number"),
    ("lacks_one", _GOOD.rsplit("\n", 2)[0].encode(), "fog_1: 1 of 4 .*'x3'.*row 4"),
    ("twice", _GOOD.encode() + b"fog,1,x3,3,3\n", "'x3' has more .* rows 8 and 9"),
    ("long_id", _changed("x1", "x" * 2000), "row 2: .* has 2,000 characters"),
    ("near_name", _with("Model", "a"), "unknown column 'Model'. Did you mean 'mo"),
    ("web_page", b"<!doctype html><html><body>404</body></html>", "lacks the col"),
    ("json", b'{"corruption": []}', "mine.csv lacks the columns corruption"),
    ("binary", bytes(range(256)) * 20, "mine.csv: byte 128 .0x80. is not UTF-8"),
    ("long_field", _GOOD.encode() + b"a" * 10_000_000, "line 10: not CSV: field"),
    ("cut", _GOOD.encode()[:-3], "mine.csv: line 9: 4 values, the header has 5"),
    *_bad_files(),
  )  # fmt: skip
  def test_bad_csv(self, data, message):
    self._refused(message, self._file(data))

  def test_ids_that_differ_in_their_unicode_form_alone(self):
    data = _GOOD.replace("fog,1,x", "fog,1,\u00e9").replace(
      "\n,0,x", "\n,0,e\u0301"
    )
    self._refused("same Unicode form", self._file(data))

  @parameterized.named_parameters(
    ("pickle", {"top1": np.array([object()] * 8)}, "'top1': Python objects"),
    ("two_axes", {"top1": np.zeros((8, 5), int)}, r"'top1' has the shape \[8, 5\]"),
    ("no_axis", {"top1": np.array(3)}, "'top1' has the shape"),
    ("short", {"top1": np.zeros(7, int)}, "'top1' has 7 rows, 'corruption' has 8"),
    ("complex", {"top1": np.zeros(8, complex)}, "'top1' holds complex128"),
    ("boolean", {"top1": np.zeros(8, bool)}, "'top1' holds bool"),
    ("date", {"label": np.zeros(8, "M8[D]")}, "'label' holds datetime64"),
    ("span", {"label": np.zeros(8, "m8[s]")}, "'label' holds timedelta64"),
    ("record", {"top1": np.zeros(8, [("a", int)])}, "'top1' holds .*'<i8'"),
    ("fraction", {"top1": np.full(8, 0.5)}, "row 1 .*got '0.5', exp"),
    ("no_rows", {k: v[:0] for k, v in _columns().items()}, " has no rows"),
    ("nan", {"top1": np.full(8, np.nan)}, "8 of 8 predictions are empty"),
    ("large", {"top1": np.full(8, 2**63, np.uint64)}, "row 1 .*got '9223372036"),
    ("bytes", {"example_id": np.array([b"\xff"] * 8)}, "'example_id' holds text"),
    ("surrogate", {"example_id": np.array(["\ud800"] * 8)}, "'example_id' holds"),
  )  # fmt: skip
  def test_bad_npz(self, changes, message):
    self._refused(f"mine.npz.*{message}", self._npz(**changes))

  @parameterized.named_parameters(
    ("big_endian", {"top1": (np.arange(8) % 4).astype(">i4")}),
    ("half", {"top1": (np.arange(8) % 4).astype(np.float16)}),
    ("text", {"top1": np.array([str(i % 4) for i in range(8)])}),
    ("bytes", {"example_id": np.array([f"x{i % 4}" for i in range(8)], "S2")}),
    ("numbers_as_ids", {"example_id": np.arange(8) % 4}),
  )
  def test_npz_of_other_kinds(self, changes):
    self._score(self._npz(**changes))
    self.assertEqual(self._table()[0].value, 0.0)

  def test_cut_npz(self):
    path = self._npz()
    path.write_bytes(path.read_bytes()[:-40])
    self._refused("mine.npz: not a whole NumPy archive", path)

  @parameterized.named_parameters(
    ("empty", {"top1": [0, 1, 2, None] * 2}, "2 of 8 .*'top1', row 4 .*x3"),
    ("no_name", {"corruption": [None] * 8}, "row 5 .* clean data has level 0"),
    ("boolean", {"top1": [True] * 8}, "'top1' holds bool"),
    ("list", {"top1": [[1]] * 8}, "'top1' holds list"),
    ("nan", {"top1": [float("nan")] * 8}, "'top1', row 1"),
  )
  def test_bad_parquet(self, changes, message):
    self._refused(f"mine.parquet: .*{message}", self._parquet(**changes))

  def test_parquet(self):
    self._score(self._parquet(top1=[0.0, 1.0, 2.0, 3.0] * 2))
    self.assertEqual(self._table()[0].value, 0.0)
    self.out = self.root / "second"
    path = self._file(b"PAR1 no", "cut.parquet")
    self._refused("cut.parquet: not a whole Parquet file", path)

  def test_ranks(self):
    header = "corruption,severity,example_id,label,top1,top2,top3\n"
    path = self._file(header + ",0,a,1,1,2,1\n")
    self._refused(r"row 1 \('a'\): the class 1 is both top1 and top3", path)
    path = self._file(header.replace("top2,", "") + ",0,a,1,1,2\n")
    self._refused("expected all ranks from top1 to top3", path)

  def test_what_is_seen_is_said(self):
    unasked = re.sub(r",(\d),\n", r",a\1,\n", _UNASKED)
    screen = self._score(self._file((_NAMED + unasked).replace(",", ";")))
    for words in (
      "values of mine.csv are separated by ;",
      "classes of mine.csv: 4 names, numbered from 0: a0, a1, a2, a3",
      "1 conditions of mine.csv have no predictions: mine fog_2",
    ):
      self.assertIn(words, screen)

  def test_classes_that_are_counted_from_another_number_are_said(self):
    for by, words in ((1, "minus 1"), (-1, "plus 1")):
      rows = [(i, i % 4 + 1, i % 4 + 1 + by) for i in range(12)]
      lines = [f",0,x{i},{label},{top1}" for i, label, top1 in rows]
      header = "corruption,severity,example_id,label,top1"
      screen = self._score(self._file("\n".join([header, *lines])))
      self.assertIn(f"are right, and 12 would be with top1 {words}", screen)
    self.assertNotIn("would be with top1", self._score(self._file()))

  def test_what_is_not_read_is_named(self):
    screen = self._score(self._file(_with("score", 0.5)))
    self.assertIn("columns of mine.csv not read: score", screen)

  def test_models_over_other_examples_are_not_compared(self):
    one = self._file()
    two = self._file(_GOOD.replace(",x3,", ",y3,"), "two.csv")
    self._refused("one.csv|mine.csv and .*two.csv have different ex", one, two)
    two = self._file(_GOOD.replace("x1,1,1", "x1,2,1"), "two.csv")
    self._refused(
      "'x1' has the label 1 in the first and 2 in the sec", one, two
    )

  @parameterized.parameters(
    ({"dataset": "pascal_c"}, "--dataset=pascal_c"),
    ({"dataset": "imagenet_p"}, "--dataset=imagenet_p"),
    ({"dataset": ""}, "--dataset: A name is empty"),
    ({"seed": -1}, "--seed=-1: expected a whole number"),
    ({"baseline": "alexnett"}, "Did you mean 'alexnet'"),
    ({"format": "frames"}, "--metadata"),
    ({"format": "raw_results"}, "mine.csv"),
    ({"format": "workdir"}, "mine.csv is no workdir"),
  )
  def test_other_settings(self, settings, message):
    self._refused(message, self._file(), **settings)

  def test_nothing_is_of_a_benchmark_by_default(self):
    names = conditions.PICTURES.names("common")
    rows = scored.text(scored.rows(names)).encode()
    self._score(self._file(rows))
    table_rows = self._table()
    self.assertEqual({r.dataset for r in table_rows}, {"unnamed"})
    metrics = {r.metric for r in table_rows}
    self.assertIn("mean_corruption_error", metrics)
    self.assertNoCommonElements(metrics, {"ce", "mce", "relative_mce"})

  def test_paths_that_are_no_files(self):
    (self.root / "folder.csv").mkdir()
    self._refused("folder.csv: not a file", self.root / "folder.csv")
    with self.assertRaisesRegex(OSError, "none.csv does not exist"):
      self._score(self.root / "none.csv")
    (self.root / "run" / "cells").mkdir(parents=True)
    (self.root / "run" / "timing.json").write_text("{}")
    self._refused(
      "run/config.json: missing, though there are cells", self.root / "run"
    )
    os.mkfifo(self.root / "pipe.csv")
    self._refused("pipe.csv: not a file", self.root / "pipe.csv")

  def test_hostile_labels_stay_inside_and_read_back(self):
    label = "../../=cmd|' /C calc'!A0"
    self._score(self._file(_with("model", label)), dataset="../../evil_c")
    self.assertEqual({r.model for r in self._table()}, {label})
    outside = [p.name for p in self.root.parent.iterdir()]
    self.assertEqual(outside, [self.root.name])
    self.assertEqual({p.name for p in self.root.iterdir()}, {"mine.csv", "out"})

  @parameterized.parameters(("brier", 7), ("brier", -1), ("nll", -3))
  def test_values_that_no_model_gives_in_cells_that_fit_their_notes(
    self, name, value
  ):
    self._score(self._file())
    workdir = workdir_lib.Workdir(epath.Path(self.out))
    cell, *_ = workdir.cells()
    columns = workdir.columns(cell)
    columns["score"] = np.full(columns["top5"].shape, 0.2, np.float32)
    columns[name] = np.full(len(columns["label"]), value, np.float32)
    workdir.write_cell(cell, columns)
    with self.assertRaisesRegex(
      errors.UserError, rf"predictions\.npz: {name}: got {value}.*in \[0, "
    ):
      self._score(self.out, out=str(self.root / "again"))


class ScoreTest(in_folder.TestCase):
  """With its flags; a refusal as a program."""

  def setUp(self):
    super().setUp()
    self.out = self.root / "out"

  def _csv(self, name) -> pathlib.Path:
    return csv_test.write(csv_test.rows_of(("fog",)), self.root / name)

  def test_command(self):
    arguments = [
      f"--predictions={self._csv('one.csv')}",
      f"--predictions={self._csv('two.csv')}",
      "--format=csv",
      "--dataset=mine_c",
      "--baseline=",
      "--seed=2",
      f"--out={self.out}",
    ]
    with without_pictures.written():
      done = in_process.run(score, *arguments)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("mine_c: 2 model(s)", done.stdout)
    self.assertEndsWith(done.stdout, f"table:  {self.out / 'table.csv'}\n")
    rows = table.read(self.out / "table.csv")
    self.assertEqual({(r.dataset, r.seed) for r in rows}, {("mine_c", 2)})

  def test_what_is_missing_is_said_on_the_screen(self):
    rows = csv_test.rows_of(("fog",))
    keep = [s != 4 for s in rows["severity"]]
    rows = {k: [x for x, y in zip(v, keep) if y] for k, v in rows.items()}
    path = csv_test.write(rows, self.root / "mine.csv")
    with without_pictures.written():
      done = in_process.run(score, f"--predictions={path}", f"--out={self.out}")
    self.assertEqual(done.returncode, 0, done.stderr)
    there = "mean over 4 of 75 cells: levels 1, 2, 3, 5 of fog."
    self.assertEqual(done.stdout.count(there), 1)
    summary, _, places = done.stdout.partition("\nreport: ")
    self.assertStartsWith(places, f"{self.out / 'reports/report.html'}\n")
    self.assertNotIn("missing", summary)
    self.assertRegex(done.stdout, r"(?m)^fog +60\.0$")

  def test_a_part_weighs_corruptions_as_the_whole_does(self):
    """.62 under fog 1-5 and .70 under frost 5: .66, not six cells' .633."""
    rows = csv_test.rows_of(("fog", "frost"))
    at = zip(rows["corruption"], rows["severity"])
    keep = [name != "frost" or severity == 5 for name, severity in at]
    rows = {k: [x for x, y in zip(v, keep) if y] for k, v in rows.items()}
    path = csv_test.write(rows, self.root / "mine.csv")
    with without_pictures.written():
      done = in_process.run(score, f"--predictions={path}", f"--out={self.out}")
    self.assertEqual(done.returncode, 0, done.stderr)
    scored = table.read(self.out / "table.csv")
    (part,) = table.select(scored, metric="part_mean_corruption_error")
    self.assertAlmostEqual(part.value, (0.62 + 0.70) / 2)

  def test_refusals_have_no_traceback(self):
    done = in_process.program(
      "eval.score", "--predictions=none.csv", f"--out={self.out}"
    )
    self.assertEqual(done.returncode, 1)
    self.assertEqual(done.stderr, "Error: none.csv does not exist.\n")
