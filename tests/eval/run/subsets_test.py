"""Subsets: their names and files; runs over them are the whole run's rows."""

import hashlib
import json
import pathlib
import shutil
import sys
import tempfile
from unittest import mock

import numpy as np
import pytest
from absl.testing import parameterized

from eval.cells import table
from eval.cells.cell_facts import DataFacts
from eval.cells.workdir import Workdir
from eval.run import plan as plan_lib
from eval.run import runner, subsets
from eval.tasks.parts import example_checks
from robust_tfds import errors, evaluate
from tests import in_folder, quick, shared_data
from tests.eval import read_counts, tiny_runs


class ReadTest(in_folder.TestCase):
  def _file(self, data: bytes, name: str = "pets.txt") -> pathlib.Path:
    path = self.root / name
    path.write_bytes(data)
    return path

  @parameterized.parameters(
    b"a.png\nb.png\n",
    b"a.png\r\nb.png",
    b"\xef\xbb\xbfa.png\nb.png\n",
    b"\n\n  a.png \n\nb.png\t\n\n",
  )
  def test_a_file(self, data):
    got = subsets.read(self._file(data))
    self.assertEqual(got.ids, ("a.png", "b.png"))
    # Of the ids: line ends, order and empty lines change no name.
    digest = hashlib.sha256(b"a.png\nb.png").hexdigest()
    self.assertEqual(got.name, f"pets-{digest[:8]}")

  def test_a_name_that_can_stand_in_a_note(self):
    path = self._file(b"a", "my; pets, 2.txt")
    self.assertStartsWith(subsets.read(str(path)).name, "my_pets_2-")

  @parameterized.parameters(
    (b"", "no ids, expected one a line"),
    (b"\n \r\n", "no ids"),
    (b"a\nb\n\na\n", "line 4: 'a' stands on line 1 already"),
    (b"\xff\xfea\x00", "UTF-16 text, expected text in UTF-8"),
    (b"a\xff", "not UTF-8"),
    (b"PK\x03\x04", "a zip file"),
  )
  def test_refused_files(self, data, message):
    path = self._file(data)
    with self.assertRaisesRegex(
      errors.UserError, f"config.data.subset: .*pets.txt.*{message}"
    ):
      subsets.read(path)

  def test_neither_a_file_nor_a_name(self):
    with self.assertRaisesRegex(
      errors.UserError,
      "config.data.subset: got 'robustbench', which is no file, and no name:"
      " robustbench5k",
    ):
      subsets.read("robustbench")
    with self.assertRaisesRegex(
      errors.UserError, "config.data.subset: .*: not a file, expected one"
    ):
      subsets.read(self.root)


class RobustBenchTest(in_folder.TestCase):
  """A package that fails where it is imported: it is only looked for."""

  def setUp(self):
    super().setUp()
    self.enterContext(
      mock.patch.object(sys, "path", [str(self.root), *sys.path])
    )

  def _package(self, ids: bytes | None) -> None:
    package = self.root / "robustbench"
    (package / "helper_files").mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('imported')")
    if ids is not None:
      path = package / "helper_files" / "imagenet_test_image_ids.txt"
      path.write_bytes(ids)

  def test_videos_of_2015(self):
    got = subsets.read("2015")
    self.assertEqual(got.name, "2015")
    pmsets = shared_data.golden_json(
      "vid_robust", "imagenet_vid_robust_pmsets.json.gz"
    )
    ids = [i for anchor, near in pmsets.items() for i in (anchor, *near)]
    chosen = [ids[i] for i in got.places(ids, "imagenet_vid_robust")]
    self.assertLen(
      pmsets.keys() & set(chosen), 487
    )  # docs/evidence/specs/video.md section 4
    facts = DataFacts(dataset="imagenet_vid_robust", subset="2015")
    held = example_checks.check_examples("a.csv", facts, 0, chosen)
    self.assertIn("9,480 examples of the subset 2015", held.verified)
    with self.assertRaisesRegex(errors.UserError, "are not the subset"):
      example_checks.check_examples("a.csv", facts, 0, chosen[1:])
    with self.assertRaisesRegex(
      errors.UserError, "no example of mine is named"
    ):
      got.places(["a.png"], "mine")

  def test_the_ids_of_the_package(self):
    ids = b"n01440764/ILSVRC2012_val_00000293.JPEG\nn0/b.JPEG\n"
    self._package(ids)
    digest = hashlib.sha256(ids).hexdigest()
    with mock.patch.object(subsets, "_SHA256", digest):
      got = subsets.read("robustbench5k")
    self.assertEqual(got.name, "robustbench5k")
    self.assertLen(got.ids, 2)
    self.assertNotIn("robustbench", sys.modules)

  def test_another_file(self):
    self._package(b"n0/a.JPEG\n")
    with self.assertRaisesRegex(
      errors.UserError,
      r"is not the file of robustbench 1.1.1 \(sha256 d4121626d077.*--no-deps",
    ):
      subsets.read("robustbench5k")

  @parameterized.parameters(True, False)
  def test_not_there(self, package):
    if package:
      self._package(None)
    elif subsets.importlib.util.find_spec("robustbench"):
      self.skipTest("robustbench is installed")
    with self.assertRaisesRegex(
      errors.UserError,
      "not installed: .*pip install --no-deps robustbench==1.1.1.*a file of ids",
    ):
      subsets.read("robustbench5k")

  def test_the_published_file(self):
    """Where robustbench is installed."""
    try:
      got = subsets.read("robustbench5k")
    except errors.UserError as e:
      self.skipTest(str(e))
    self.assertLen(got.ids, 5000)
    self.assertEqual(got.ids[0], "n09468604/ILSVRC2012_val_00015253.JPEG")


class RunTest(parameterized.TestCase):
  """Digits: all of them, then 41, at the door of the command."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.base = pathlib.Path(tempfile.mkdtemp(prefix="subsets_test"))
    cls.addClassCleanup(shutil.rmtree, cls.base)
    whole = tiny_runs.copy("whole", cls.base / "whole")
    cls.data = {"data_dir": str(whole / "data")}
    cls.whole = Workdir(whole)
    ids = cls.whole.columns(cls.whole.cells()[0])["example_id"]
    rng = np.random.default_rng(0)
    cls.ids = sorted(rng.choice(ids, 41, replace=False).tolist())
    listed = rng.permutation(cls.ids).tolist()
    cls.file = cls.base / "some.txt"
    cls.file.write_bytes("\r\n".join([f"x/{i}.png" for i in listed]).encode())
    cls.name = subsets.read(cls.file).name
    cls.rows = cls._subset_run("first")
    cls.reads = read_counts.of(cls.base / "first")  # a later start reads none

  @classmethod
  def _subset_run(cls, name: str, shard: str = "1/1", **data):
    workdir = cls.base / name
    if not workdir.exists():
      shutil.copytree(cls.base / "whole/models", workdir / "models")
    data = {"subset": str(cls.file), **cls.data, **data}
    return tiny_runs.run("whole", workdir, shard, **data)

  def _cut(self, cell) -> dict[str, np.ndarray]:
    """The whole run's columns of the chosen examples."""
    (of,) = [c for c in self.whole.cells() if c.condition == cell.condition]
    columns = self.whole.columns(of)
    rows = np.isin(columns["example_id"], self.ids)
    return {k: v[rows] for k, v in columns.items()}

  def test_cells_are_the_whole_runs(self):
    workdir = Workdir(self.base / "first")
    cells = workdir.cells()
    self.assertLen(cells, 5)
    for cell in cells:
      got, want = workdir.columns(cell), self._cut(cell)
      self.assertEqual(got["example_id"].tolist(), self.ids)
      for name, values in want.items():
        np.testing.assert_array_equal(got[name], values, name)
      self.assertEqual(cell.data.subset, self.name)
      self.assertEqual(cell.data.examples, 41)

  def test_what_was_not_chosen_was_not_decoded(self):
    self.assertEqual(set(self.reads.values()), {1.0})  # of the chosen ones
    plan = plan_lib.make(
      tiny_runs.config("whole", subset=str(self.file), **self.data)
    )
    source = runner.Runner(plan, self.base / "first").data.clean
    self.assertEqual((source.total, source.share), (41, 41))
    self.assertLen(list(source.rows()), 41)
    self.assertEqual(source.decoded, 41)

  def test_every_row_says_it(self):
    for row in self.rows:
      self.assertEndsWith(row.note, f"subset {self.name}")
    (error,) = table.select(self.rows, metric="error", config="clean")
    self.assertEqual(error.n, 41)

  @pytest.mark.slow
  def test_a_folder_that_moved_is_continued(self):
    before = (self.base / "first/table.csv").read_bytes()
    moved = self.base / "elsewhere"
    moved.mkdir(exist_ok=True)
    shutil.copy(self.file, moved / "some.txt")
    self._subset_run("first", subset=moved / "some.txt")
    self.assertEqual((self.base / "first/table.csv").read_bytes(), before)
    config = json.loads((self.base / "first/config.json").read_text())
    self.assertEqual(config["data"]["subset"], self.name)

  def test_another_subset_is_another_run(self):
    other = self.base / "other.txt"
    other.write_text("\n".join(self.ids[:-1]))
    with self.assertRaisesRegex(errors.UserError, "another config .*subset"):
      self._subset_run("first", subset=str(other))
    with self.assertRaisesRegex(errors.UserError, "another config .*subset"):
      self._subset_run("first", subset="")

  @quick.cases(["shards", "tfrecord", "one_by_one"], ["prepared"])
  def test_what_must_not_matter(self, what):
    data = {
      "prepared": {"source": "prepared"},
      "tfrecord": {
        "file_format": "tfrecord",
        "data_dir": str(self.base / "tfrecord"),
      },
      "one_by_one": {"block_mib": 1},
    }.get(what, {})
    rows = []
    for shard in ("1/2", "2/2", "1/1") if what == "shards" else ("1/1",):
      rows = self._subset_run(what, shard, **data)
    plain = [(r.config, r.metric, r.value, r.n, r.note) for r in rows]
    want = [(r.config, r.metric, r.value, r.n, r.note) for r in self.rows]
    self.assertEqual(plain, want)

  def test_refused(self):
    other = self.base / "absent.txt"
    other.write_text(f"{self.ids[0]}\nnobody\n")
    with self.assertRaisesRegex(
      errors.UserError, "absent.txt: 1 of 2 ids are not in digits_c/clean"
    ):
      self._subset_run("refused", subset=str(other))
    with self.assertRaisesRegex(errors.UserError, "limit=9 both choose"):
      self._subset_run("refused", limit=9)

  def test_evaluate(self):
    def level(images):
      return np.repeat(images.mean((1, 2, 3))[:, None], 10, 1).astype("f4")

    result = evaluate(
      level,
      "digits_c",
      conditions="fog",
      severities=3,
      batch_size=8,
      subset=self.file,
      **self.data,
    )
    (row,) = table.select(result.table, metric="error", config="fog_3")
    self.assertEqual((row.n, row.note), (41, f"subset {self.name}"))
    folder = self.base / "reports"
    result.report(folder)
    for name in ("report.html", "leaderboard.md", "summary.txt"):
      caption = f"digits_c, subset {self.name}"
      text = (folder / name).read_text().replace("\\", "")
      self.assertIn(caption, text)
