"""The checker of submissions: what it accepts, and what it refuses."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from absl.testing import parameterized

from eval import leaderboard
from eval.cells.files import note
from eval.cells.workdir import Workdir
from eval.submissions import checker
from eval.submissions import files as files_lib
from eval.submissions import manifest as manifest_lib
from models import weights_file
from robust_tfds import errors
from robust_tfds.building import base
from robust_tfds.conditions import Condition
from tests import in_folder, in_process
from tests.eval.compare import small_runs
from tests.eval.submissions import small

_Change = Callable[[small.Tampered], Any]


def _put(name, place, value):
  """f(columns) that changes one value."""

  def change(columns):
    columns[name] = columns[name].copy()
    columns[name][place] = value

  return change


def _config(change) -> _Change:
  """The config, and the manifest of it."""
  return lambda t: (t.config(change), t.manifest())


def _notes(change) -> _Change:
  """All notes, and the manifest of them."""
  return lambda t: (t.notes(change), t.manifest())


def _manifest(change) -> _Change:
  return lambda t: t.manifest(change)


def _model(**facts) -> _Change:
  """Facts of a model in the manifest alone."""
  return _manifest(lambda m: m["models"]["a"].update(facts))


def _columns(change, config="fog_3") -> _Change:
  """Outputs of a cell, its note and the manifest."""
  return lambda t: (t.columns(change, config), t.notes(), t.manifest())


def _examples(change) -> _Change:
  """Facts of examples, and all hashes."""
  return lambda t: (t.examples(change), t.all_hashes())


def _written(name: str, text: str) -> _Change:
  """Another text of a file, which the manifest has."""

  def change(tampered):
    (tampered.folder / name).write_text(text)
    if name != "submission.json":
      tampered.manifest()

  return change


def _groups(columns):
  count = len(columns["example_id"])
  columns["group_id"] = np.array([f"g{i % 30}" for i in range(count)])


def _other_ids(columns):
  for name in ("example_id", "group_id"):
    columns[name] = np.char.replace(columns[name], "digit", "x")


def _other_labels(columns):
  columns["label"] = (columns["label"] + 1) % 10


def _one_less(tampered):
  """The last example is left out of all cells."""

  def change(columns):
    columns.update({name: values[:-1] for name, values in columns.items()})

  tampered.every_cell(change)
  tampered.all_hashes()


def _table_row(tampered):
  path = tampered.folder / "table.csv"
  path.write_text(path.read_text().replace("0.1", "0.2", 1))


def _pickle(tampered):
  small.pickled(tampered.cell() / "predictions.npz")
  tampered.notes()
  tampered.manifest()


def _unneeded(tampered):
  (tampered.folder / "examples" / f"{'0' * 16}.npz").write_bytes(b"x")
  tampered.manifest()


def _linked(tampered):
  path = tampered.folder / "table.csv"
  path.rename(tampered.folder.parent / "table.csv")
  path.symlink_to(tampered.folder.parent / "table.csv")


def _behind_a_link(tampered):
  folder = tampered.cell()
  folder.rename(tampered.folder.parent / "elsewhere")
  folder.symlink_to(tampered.folder.parent / "elsewhere")


def _outside(name: str) -> _Change:
  return _manifest(lambda m: m["files"].update({name: m["files"]["table.csv"]}))


def _weights(label: str, *, trained: bool) -> _Change:
  """Weights in the submission, of a model that the run trained or did not."""

  def change(tampered):
    if trained:
      train = {"train": {"steps": 1}}
      tampered.config(lambda c: c["models"][label].update(train))
    path = tampered.folder / "models" / label / "weights.npz"
    path.parent.mkdir(parents=True)
    weights_file.write(path, {"params": {"kernel": np.zeros(3)}})
    tampered.manifest()

  return change


_NOTE = "cells/a/digits_c/fog_3/seed0/provenance.json"
_BOXES = {"boxes": np.zeros((359, 1, 4), np.float32)}
# What is changed, and a part of the refusal.
_UNHASHED = (
  (
    lambda t: t.columns(_put("top5", (0, 0), 3)),
    "a/digits_c/fog_3/seed0/predictions.npz: .*(sha256|bytes)",
  ),
  (
    lambda t: t.json(_NOTE, lambda note: note.update(seed=1)),
    f"{_NOTE}: .*(sha256|bytes)",
  ),
  (_table_row, "table.csv: its sha256 is not that in submission.json"),
  (
    lambda t: t.json("submission.json", lambda m: m.update(cells=5)),
    "submission.json: checksum: it does not fit the other",
  ),
)
_CONTENTS = (
  (
    _columns(_put("top5", (5, slice(None)), [7, 8, 9, 1, 2])),
    "table.csv: line .*but the predictions give",
  ),
  (_examples(_other_ids), "digits_c has no example 'x_0004' .359 of 359"),
  (_examples(_other_labels), "label of 'digit_0004': got 5, but its id says"),
  (
    lambda t: (t.examples(_groups), t.notes(), t.manifest()),
    "group_id of 'digit_0004': got 'g0', expected 'digit_0004' as in",
  ),
  (_one_less, "358 examples, but the facts of the data say 359"),
  (
    _notes(lambda note: note["data"].update(codec="lossless")),
    "data: submission.json has no such facts",
  ),
  (
    lambda t: small.with_facts(t, marks=False, version="1.0.1"),
    "fingerprint: .* is not the hash of the facts beside it",
  ),
  (
    _columns(_put("top5", (0, 1), 10), "clean"),
    "clean/seed0/predictions.npz: top5: got the class 10, expected -1 to 9",
  ),
  (
    lambda t: (t.columns(lambda c: c.update(_BOXES)), t.all_hashes()),
    "the column 'boxes' is none of the task classification",
  ),
  (
    _notes(lambda n: n.pop("data")),
    "data, by: missing. A submission's cells say their facts",
  ),
  (
    _config(lambda c: c.update(seed=5)),
    "config.json does not ask for the cell",
  ),
  (
    _config(lambda c: c["versions"].update(pixels=2)),
    r"data.pixels: got \d+, but 2 follows from config.json",
  ),
  (
    _config(lambda c: c["models"].pop("b")),
    "config.json does not ask for the cell b/digits_c/clean",
  ),
  (
    _config(lambda c: c["data"].update(corruptions="snow")),
    "config.json does not ask for the cell a/digits_c/fog_1",
  ),
  (
    _config(lambda c: c["models"]["a"].update(name="resnet50")),
    "models.a.name: got 'digits_cnn', but config.json has 'resnet50'",
  ),
  (_config(lambda c: c["data"].update(limit="x")), "config.json: data.limit"),
  (_config(lambda c: c.update(task="video")), "."),
  (_config(lambda c: c.update(baseline="model:c")), "."),
  (
    _manifest(
      lambda m: m["models"].update(c=small_runs.model_facts("c").model_dump())
    ),
    r"models: got \['a', 'b', 'c'\], but the submission has \['a', 'b'\]",
  ),
  (
    _model(trained_on="something better"),
    "by.trained_on: got 'digits train', but submission.json has 'something",
  ),
  (_model(trained_on=" "), "submission.json: models.a.trained_on: missing"),
  (
    _manifest(lambda m: m.update(task="video")),
    "task: got 'video', but the submission has 'classification'",
  ),
)
_FILES = (
  (
    lambda t: (t.folder / "more.txt").write_text("x"),
    "more.txt: submission.json does not name this file",
  ),
  (_unneeded, "0000.npz: no finished cell needs this file"),
  (lambda t: (t.folder / "table.csv").unlink(), "table.csv: there is no such"),
  (lambda t: (t.folder / "submission.json").unlink(), "is not a submission"),
  (
    lambda t: shutil.rmtree(t.cell().parent),
    "fog_3/seed0/p.*: there is no such file, but a submission needs it",
  ),
  (_linked, "table.csv: a link, pipe or device"),
  (_behind_a_link, "seed0: a link, pipe or device"),
  (lambda t: os.mkfifo(t.folder / "pipe"), "pipe: a link, pipe or device"),
  (_pickle, "predictions.npz: 'score': Python objects .a pickle"),
  (_outside("../table.csv"), "files: got '../table.csv', expected a path in"),
  (_outside("/etc/passwd"), "files: got '/etc/passwd', expected a path in"),
  (_outside("cells\\a"), "files: got .*, expected a path inside"),
  (
    _manifest(lambda m: m["files"]["table.csv"].update(size=1 << 60)),
    "bytes of files, the limit is",
  ),
  (_weights("a", trained=False), "weights.npz: no finished cell needs"),
  (
    _weights("a", trained=True),
    "weights.npz: these weights have the sha256 .* say a0000",
  ),
  (_written("submission.json", "{"), "line 1, column 2: not JSON"),
  (_written("submission.json", "[]"), "submission.json: version: got None"),
  (_written("submission.json", '{"version": 2}'), "got 2, this code reads 1"),
  (_written("submission.json", '{"version": 1}'), "n.json: code: missing"),
  (_written(_NOTE, "{"), "json: line 1"),
)


class CheckerTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.stack = contextlib.ExitStack()
    cls.addClassCleanup(cls.stack.close)
    cls.root = pathlib.Path(cls.stack.enter_context(small.folder()))
    cls.whole = small.submission(cls.root, ("a", "b"))

  def setUp(self):
    super().setUp()
    root = pathlib.Path(self.create_tempdir().full_path)
    self.folder = root / "tampered"
    shutil.copytree(self.whole, self.folder)
    self.tampered = small.Tampered(self.folder)

  def _refuses(self, message: str) -> None:
    with self.assertRaisesRegex(errors.UserError, message) as caught:
      checker.check(self.folder)
    self.assertNotIn("run the command", str(caught.exception))

  @parameterized.parameters(*_UNHASHED, *_CONTENTS, *_FILES)
  def test_refuses(self, change, message):
    change(self.tampered)
    self._refuses(message)

  def test_the_command(self):
    done = in_process.run(leaderboard, f"--check={self.folder}")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertStartsWith(
      done.stdout, f"consistent: {self.folder}\nverified:\n"
    )
    _table_row(self.tampered)
    done = in_process.run(leaderboard, f"--check={self.folder}")
    self.assertEqual(done.returncode, 1)
    self.assertRegex(
      done.stdout + done.stderr, "Error: (.|\n)*table.csv: its sh"
    )

  def test_a_complete_submission_is_consistent(self):
    text = checker.check(self.folder)
    for part in (
      "6 of the 6 cells that config.json names",
      "6 fingerprints: those of the facts",
      "digits_c: its 359 examples, by their ids",
      "labels of digits_c: 359 of 359 by their ids",
      "a: trained on digits train; test corruptions seen: none",
      "not verified:\n- that the models gave these",
    ):
      self.assertIn(part, text)

  @parameterized.parameters(
    ("px", [64, 64], [32, 32]),
    ("px", None, [32, 32]),
    ("metric", 2, 1),
    ("config", "fog_1", "clean"),
    ("geometry", "none", ""),
    ("decoders", "read with Pillow 9", ""),
    ("settings", {"views": 10}, {}),
    ("edition", "imagenet", "cifar10"),
    ("codec", "jpeg85", "raw"),
  )
  def test_facts_that_follow_from_the_config(self, name, stated, true):
    small.with_facts(self.tampered, **{name: stated})
    with self.assertRaises(errors.UserError) as caught:
      checker.check(self.folder)
    self.assertIn(
      f"data.{name}: got {stated!r}, but {true!r} follows from config",
      str(caught.exception),
    )

  def test_a_crop_that_the_set_does_not_have(self):
    self.tampered.config(lambda c: c["data"].update(geometry="none"))
    small.with_facts(self.tampered, geometry="none", px=[])
    self._refuses("config.json: digits_c: geometry=none corrupts whole")

  def test_facts_that_nothing_here_tells(self):
    small.with_facts(self.tampered, version="9.9.9")
    stated = checker.check(self.folder).split("\nstated, not verified:\n")[1]
    self.assertStartsWith(
      stated, f"- data of digits_c: version 9.9.9, content {'0' * 64}\n"
    )
    self.assertIn("- weights, preprocessing, dtype and code of a\n", stated)

  def test_it_is_a_workdir_with_the_runs_predictions(self):
    run = Workdir(self.root / "run")
    submitted = Workdir(self.folder)
    self.assertEqual(submitted.cells(), run.cells())
    for cell in run.cells():
      for name in ("predictions.npz", "provenance.json"):
        self.assertEqual(
          (submitted.cell_folder(cell) / name).read_bytes(),
          (run.cell_folder(cell) / name).read_bytes(),
        )

  def test_a_missing_cell(self):
    shutil.rmtree(self.tampered.cell().parent)
    self.tampered.manifest()
    self._refuses("submission.json: cells: got 6, but the submission has 5")
    self.tampered.table()
    self.tampered.manifest(lambda m: m.update(cells=5))
    text = checker.check(self.folder)
    self.assertIn("5 of the 6 cells that config.json names", text)

  @parameterized.parameters(
    (
      {"limit": 300},
      "",
      "limit takes the first 300 .* 'digit_.* is not one of",
    ),
    ({"limit": 299}, "", "300 examples, but the limit takes the first 299"),
    (
      {"subset": "robustbench5k"},
      "",
      "data.subset: got '', but 'robustbench5k'",
    ),
    (
      {"subset": "robustbench5k"},
      "robustbench5k",
      "are not the subset robustbench5k",
    ),
    (
      {"subset": "mine"},
      "mine",
      "expected one of robustbench5k, 2015, or a file's stem",
    ),
  )
  def test_easy_examples(self, settings, subset, message):
    self._pick(range(59, 359), settings, subset=subset)
    self._refuses(message)

  def test_a_subset_of_a_file(self):
    ids = small.columns(Condition())["example_id"][59:].tolist()
    lines = "\n".join(ids).encode()
    name = f"mine-{hashlib.sha256(lines).hexdigest()[:8]}"
    self._pick(range(59, 359), {"subset": name}, subset=name)
    text = checker.check(self.folder)
    self.assertIn(f"300 examples of the subset {name}, by their ids", text)
    self.assertIn(f"- how the subset {name} was chosen: by a file of", text)

  def test_the_first_examples(self):
    ids = small.columns(Condition())["example_id"].tolist()
    first = sorted(ids, key=lambda i: base.place("test", i))[:300]
    self._pick([ids.index(i) for i in sorted(first)], {"limit": 300})
    text = checker.check(self.folder)
    self.assertIn("digits_c: the first 300 of its 359 examples, by", text)

  def _pick(self, places, settings, **facts) -> None:
    """Leaves some examples alone, and says so everywhere."""

    def pick(columns):
      columns.update({k: v[list(places)] for k, v in columns.items()})

    self.tampered.every_cell(pick)
    self.tampered.config(lambda c: c["data"].update(settings))
    small.with_facts(self.tampered, examples=len(places), **facts)

  def test_no_submission(self):
    with self.assertRaisesRegex(errors.UserError, "is not a submission"):
      checker.check(self.root / "run")
    with self.assertRaisesRegex(errors.UserError, "there is no such folder"):
      checker.check(self.root / "nowhere")

  @parameterized.parameters(
    ([], "images"),
    ({"images": [{"id": "x"}], "annotations": [], "categories": []}, "id"),
  )
  def test_ground_truth_that_is_none(self, truth, message):
    Workdir(self.folder).write_truth(truth)
    self.tampered.manifest()
    self._refuses(f"/truth.json: .*{message}")


class FilesTest(in_folder.TestCase):
  def test_files_have_their_paths_below_the_folder(self):
    for name in ("a.txt", "b/c.txt", "b/d/e.txt"):
      path = self.root / name
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_text(name)
    expected = {"a.txt", "b/c.txt", "b/d/e.txt"}
    self.assertEqual(files_lib.below(self.root), expected)
    with mock.patch.object(files_lib, "_LIMIT", 2):
      with self.assertRaisesRegex(errors.UserError, "more than 2 files"):
        files_lib.below(self.root)


class ManifestTest(in_folder.TestCase):
  """submission.json: what is written is read, anything else is refused."""

  def setUp(self):
    super().setUp()
    data = small_runs.data_facts()
    self.manifest = manifest_lib.make(
      "classification",
      3,
      {"a": small_runs.model_facts("a")},
      {data.hash: data},
      {"table.csv": note.File.from_bytes(b"x")},
    )
    manifest_lib.write(self.root, self.manifest)
    self.path = self.root / manifest_lib.FILE

  def test_a_text_that_would_print_lines_of_an_answer(self):
    self.manifest.models["a"] = small_runs.model_facts("a", trained_on="x\n- y")
    message = "trained_on: got .* one line"
    with self.assertRaisesRegex(errors.UserError, message):
      manifest_lib.write(self.root, self.manifest)
    content = json.loads(self.path.read_text())
    content["models"]["a"]["trained_on"] = "x\x1b[2K"
    self.path.write_text(json.dumps(small.with_checksum(content)))
    with self.assertRaisesRegex(errors.UserError, message):
      manifest_lib.read(self.root)

  def test_one_of_a_hundred_mebibytes_is_not_opened(self):
    with self.path.open("r+b") as file:
      file.truncate(100 << 20)
    with self.assertRaisesRegex(errors.UserError, "the limit is 67,108,864"):
      manifest_lib.read(self.root)
