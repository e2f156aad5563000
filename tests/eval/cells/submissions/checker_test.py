"""What the checker of submissions finds, and what it takes."""

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

from eval.cells.files import note, packed
from eval.cells.workdir import Workdir
from eval.submissions import checker, contents, layout
from eval.submissions import manifest as manifest_lib
from eval.submissions import values as values_lib
from eval.tasks import sequences
from eval.tasks.parts import example_checks
from robust_tfds import conditions, errors
from robust_tfds.building import base
from robust_tfds.conditions import Condition
from tests import fake_bucket, in_folder
from tests.eval.cells.submissions import door, small
from tests.eval.compare import small_runs

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


def _archive(change) -> _Change:
  """Arrays of a cell's outputs, under the names of packed columns."""

  def changed(tampered):
    path = tampered.cell() / "predictions.npz"
    small.write_packed(path, change(packed.loads(path.read_bytes(), "x")))
    tampered.notes()
    tampered.manifest()

  return changed


def _promised_rows(columns: dict) -> dict:
  lengths = np.zeros(1 << 20, np.int64)
  lengths[0] = 1 << 20
  texts = {"a.str": np.zeros(1 << 20, np.uint8), "a.lengths": lengths}
  return {**packed.pack(columns), **texts}


def _promised_detections(_: dict) -> dict:
  return {
    "boxes.ragged": np.zeros((0, 4), np.float32),
    "scores.ragged": np.zeros(0, np.float32),
    "classes.ragged": np.zeros(0, np.int16),
    "detections.lengths": np.array([1 << 40] + [0] * 359, np.int64),
  }


def _groups(columns):
  count = len(columns["example_id"])
  columns["group_id"] = np.array([f"g{i % 30}" for i in range(count)])


def _other_ids(columns):
  for name in ("example_id", "group_id"):
    columns[name] = np.char.replace(columns[name], "digit", "x")


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


def _letters(manifest):
  for name, file in list(manifest["files"].items()):
    if name.startswith("cells/a/"):
      manifest["files"][name.replace("cells/a/", "cells/A/")] = file


def _other_key(manifest):
  ((_, facts),) = manifest["data"].items()
  manifest["data"] = {"0" * 12: facts}


def _weights(label: str, *, trained: bool) -> _Change:
  """Weights beside the cells, of a model that the run trained or did not."""

  def change(tampered):
    if trained:
      train = {"train": {"steps": 1}}
      tampered.config(lambda c: c["models"][label].update(train))
    path = tampered.folder / "models" / label / "weights.npz"
    path.parent.mkdir(parents=True)
    small.write_packed(path, {"kernel": np.zeros(3)})
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
    lambda t: t.json(
      "submission.json",
      lambda m: m["files"]["table.csv"].update(sha256="0" * 64),
    ),
    "submission.json: checksum: it is not that of the other",
  ),
)
_HASHED = (
  (
    _columns(_put("top5", (5, slice(None)), [7, 8, 9, 1, 2])),
    "table.csv: line .*but the predictions give",
  ),
  (_examples(_other_ids), "digits_c has no example 'x_0004' .359 of 359"),
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
    _config(lambda c: c["models"]["a"].update(name="resnet50")),
    "models.a.name: got 'digits_cnn', but config.json has 'resn",
  ),
  (
    lambda t: (
      t.notes(lambda note: note.update(fingerprint="0" * 12)),
      t.table(),
      t.manifest(),
    ),
    "fingerprint: 000000000000 of the model",
  ),
  (
    _columns(_put("top5", (0, 1), 10), "clean"),
    "clean/seed0/predictions.npz: top5 of 'digit_0004'.*0 to 9",
  ),
  (
    lambda t: (t.columns(lambda c: c.update(_BOXES)), t.all_hashes()),
    "the column 'boxes' is none of the task classification",
  ),
  (
    _notes(lambda n: n["split"].update(ids="0" * 64)),
    "split: 359 examples and their hashes are not those",
  ),
  (
    _notes(lambda n: n.pop("data")),
    "data, by: a submission's cells say their facts",
  ),
  (_config(lambda c: c.update(seed=5)), "seed: got 0, but config.json has 5"),
  (
    _config(lambda c: c["versions"].update(pixels=2)),
    r"data.pixels: got \d+, but 2 follows from config.json",
  ),
  (
    _config(lambda c: c["models"].pop("b")),
    "model: got 'b', but config.json has a",
  ),
  (
    _config(lambda c: c["data"].update(corruptions="snow")),
    "fog_1 is none of the conditions of config.json",
  ),
  (_config(lambda c: c["data"].update(limit="x")), "config.json: data.limit"),
  (
    _config(lambda c: c["data"].pop("corruptions")),
    "config.data.corruptions: missing",
  ),
  (_config(lambda c: c.update(task="nothing")), "."),
  (_config(lambda c: c.update(task="video")), "."),
  (_config(lambda c: c.update(baseline="model:c")), "."),
)
_OF_MANIFEST = (
  (
    _manifest(
      lambda m: m["models"].update(c=small_runs.model_facts("c").model_dump())
    ),
    "models: got .*c.*, but the cells are of a",
  ),
  (
    _model(trained_on="something better"),
    "by: other facts than submission.json has of a: trained_on: 'digits train'",
  ),
  (
    _model(corruptions_seen=["Fog"]),
    "models.a.corruptions_seen: 'Fog' is no corruption",
  ),
  (_model(trained_on=" "), "submission.json: models.a.trained_on: missing"),
  (
    _manifest(lambda m: m.update(task="video")),
    "task: got 'video', but config.json has 'classification'",
  ),
  (_manifest(_other_key), "data.000000000000: these facts have the hash"),
  (
    _manifest(lambda m: m["files"]["table.csv"].update(size=1 << 60)),
    "bytes of files, the limit is",
  ),
  (_manifest(_letters), "are one file where file systems take large letters"),
)
_OF_FILES = (
  (
    lambda t: (t.folder / "more.txt").write_text("x"),
    "more.txt: submission.json does not name this file",
  ),
  (_unneeded, "0000.npz: it belongs to no finished cell"),
  (lambda t: (t.folder / "empty").mkdir(), "empty: an empty folder"),
  (lambda t: (t.folder / "table.csv").unlink(), "table.csv"),
  (lambda t: (t.folder / "config.json").unlink(), "config.json"),
  (lambda t: (t.folder / "submission.json").unlink(), "submission.json"),
  (
    lambda t: shutil.rmtree(t.cell().parent),
    "fog_3/seed0/p.*: there is no such file, but submission.json",
  ),
  (_linked, "table.csv: a symbolic link; a submission holds plain files"),
  (_behind_a_link, "seed0: a symbolic link"),
  (
    lambda t: os.link(t.folder / "table.csv", t.folder.parent / "other"),
    "table.csv: a hard link",
  ),
  (lambda t: os.mkfifo(t.folder / "pipe"), "pipe: neither a file nor a folder"),
  (_pickle, "predictions.npz: 'score': Python objects .a pickle"),
  (_archive(_promised_rows), "fog_3/seed0/predictions.npz: .*bytes of arrays"),
  (
    _archive(_promised_detections),
    "fog_3/seed0/predictions.npz: .*bytes of arrays",
  ),
  (
    _weights("a", trained=False),
    "weights.npz: config.json does not train a: a submission",
  ),
  (
    _weights("a", trained=True),
    "weights.npz: these weights have the sha256 .* say a0000",
  ),
  (
    _weights("c", trained=False),
    "c/weights.npz: it belongs to no finished cell",
  ),
  (_written("submission.json", "{"), "line 1, column 2: not JSON"),
  (_written("submission.json", "[]"), "submission.json: version: got None"),
  (_written("submission.json", '{"version": 2}'), "got 2, this code reads 1"),
  (_written("submission.json", '{"version": 1}'), "n.json: code: missing"),
  (_written("config.json", "{"), "config.json: line 1"),
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
    self.assertNotIn("--repair", str(caught.exception))

  @parameterized.parameters(*_UNHASHED, *_HASHED, *_OF_MANIFEST, *_OF_FILES)
  def test_refuses(self, change, message):
    change(self.tampered)
    self._refuses(message)

  @parameterized.parameters(_UNHASHED[0], _HASHED[0], _OF_FILES[0])
  def test_refuses_at_the_door(self, change, message):
    """Exit status 1, the file and the reason."""
    change(self.tampered)
    status, text = door.check(self.folder)
    self.assertEqual(status, 1, text)
    self.assertRegex(text, f"^Error: (.|\n)*{message}")
    self.assertNotIn("Traceback", text)

  def test_a_whole_one_is_consistent(self):
    status, text = door.check(self.folder)
    self.assertEqual(status, 0, text)
    self.assertStartsWith(text, f"consistent: {self.folder}\nverified:\n")
    self.assertIn("6 of the 6 cells that config.json names", text)
    self.assertIn("6 fingerprints: those of the facts", text)
    self.assertIn("digits_c: its 359 examples, by their ids", text)
    self.assertIn("labels of digits_c: 359 of 359 by their ids", text)
    self.assertIn(
      "a: trained on digits train; test corruptions seen: none", text
    )
    self.assertIn("not verified:\n- that the models gave these", text)

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
    status, text = door.check(self.folder)
    self.assertEqual(status, 1, text)
    self.assertIn(
      f"data.{name}: got {stated!r}, but {true!r} follows from config", text
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

  def test_honest_cells_are_not_called_copies(self):
    self.assertNotIn("copies of one", checker.check(self.folder))

  @parameterized.parameters(
    ("resn\u0435t", "CYRILLIC SMALL LETTER IE"),
    ("v\u0456t_b", "CYRILLIC SMALL LETTER BYELORUSSIAN-UKRAINIAN I"),
    ("\u039det", "GREEK CAPITAL LETTER NU"),
  )
  def test_a_label_that_looks_like_another(self, label, letter):
    with self.assertRaisesRegex(errors.UserError, f"is {letter}. Rename it"):
      small.submission(self.folder.parent / "alike", (label,))

  def test_a_label_in_other_letters_is_named_as_such(self):
    label = "\u0430\u0441\u0435-a"  # reads like ace-a
    folder = small.submission(self.folder.parent / "other", (label,))
    self.assertIn(
      f"- the label {label!r} has CYRILLIC letters\n", checker.check(folder)
    )

  def test_it_is_a_workdir_with_the_runs_table_and_predictions(self):
    run = Workdir(self.root / "run")
    submitted = Workdir(self.folder)
    self.assertEqual(submitted.cells(), run.cells())
    for cell in run.cells():
      for name in ("predictions.npz", "provenance.json"):
        self.assertEqual(
          (submitted.cell_folder(cell) / name).read_bytes(),
          (run.cell_folder(cell) / name).read_bytes(),
        )

  def test_a_folder_that_is_a_link(self):
    link = self.folder.parent / "link"
    link.symlink_to(self.folder)
    self.assertIn("consistent", checker.check(link))

  def test_a_missing_cell_that_nobody_names(self):
    shutil.rmtree(self.tampered.cell().parent)
    self.tampered.manifest()
    self._refuses("submission.json: cells: got 6, but there are 5")
    self.tampered.table()
    self.tampered.manifest(lambda m: m.update(cells=5))
    text = checker.check(self.folder)
    self.assertIn("5 of the 6 cells that config.json names", text)

  def test_a_data_set_of_which_no_cell_is_there(self):
    _config(lambda c: c["data"].update(name="cifar10_c,digits_c"))(
      self.tampered
    )
    text = checker.check(self.folder)
    self.assertIn("6 of the 12 cells that config.json names", text)

  @parameterized.parameters(
    (
      {"limit": 300},
      "limit takes the first 300 .* 'digit_.* is not one of them",
    ),
    ({"limit": 299}, "300 examples, but the limit takes the first 299"),
    (
      {"subset": "robustbench5k"},
      "data.subset: got '', but 'robustbench5k' follows",
    ),
  )
  def test_easy_examples(self, settings, message):
    self._pick(range(59, 359), settings)
    self._refuses(message)

  @parameterized.parameters(
    ("robustbench5k", "are not those of the subset robustbench5k"),
    ("mine", "expected one of robustbench5k, 2015, or a file's stem"),
    (
      "robustbench5k-01234567",
      "expected one of robustbench5k, 2015, or a file's",
    ),
  )
  def test_easy_examples_as_a_subset(self, subset, message):
    self._pick(range(59, 359), {"subset": subset}, subset=subset)
    self._refuses(message)

  def test_a_subset_of_a_file(self):
    ids = small.columns(Condition())["example_id"][59:].tolist()
    lines = "\n".join(ids).encode()
    name = f"mine-{hashlib.sha256(lines).hexdigest()[:8]}"
    self._pick(range(59, 359), {"subset": name}, subset=name)
    text = checker.check(self.folder)
    self.assertIn(f"300 examples of the subset {name}, by their ids", text)
    self.assertIn(f"- how the subset {name} was chosen: by a file of", text)
    other = "mine-12345678"
    self.tampered.config(lambda c: c["data"].update(subset=other))
    small.with_facts(self.tampered, subset=other)
    text = checker.check(self.folder)
    self.assertIn("submitter's, whose ids are not at hand", text)

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

  @parameterized.parameters(
    "../table.csv",
    "/etc/passwd",
    "cells/../../x",
    "cells\\a",
    "C:/x",
    "a\0b",
    "./table.csv",
    "cells//a",
  )
  def test_a_path_that_leads_out(self, name):
    def change(content):
      content["files"][name] = content["files"]["table.csv"]

    self.tampered.manifest(change)
    self._refuses("submission.json: files: .* leads out of the folder")

  def test_no_submission(self):
    with self.assertRaisesRegex(errors.UserError, "is no submission"):
      checker.check(self.root / "run")
    with self.assertRaisesRegex(errors.UserError, "there is no such folder"):
      checker.check(self.root / "nowhere")


class ContentsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = small.submission(self.create_tempdir().full_path)
    self.tampered = small.Tampered(self.folder)

  def _check(self) -> contents.Account:
    manifest = manifest_lib.read(self.folder)
    return contents.check(self.folder, manifest, contents.read(self.folder))

  def _refuses(self, message) -> None:
    with self.assertRaisesRegex(errors.UserError, message):
      self._check()

  def test_the_account(self):
    account = self._check()
    self.assertEqual((account.cells, account.marked), (3, 3))
    self.assertEqual(account.planned, 3)
    self.assertEqual(list(account.examples), ["digits_c"])
    verified = [e.verified for e in account.examples["digits_c"]]
    self.assertIn("its 359 examples", "".join(verified))
    self.assertEqual(account.labels, {"digits_c": (359, 359)})

  def test_an_example_that_is_another_in_another_cell(self):
    workdir = Workdir(self.folder)
    cell = workdir.cells()[-1]
    columns = dict(workdir.columns(cell))
    columns["group_id"] = np.array([f"g{i}" for i in range(359)])
    workdir.write_cell(cell, columns, "test")
    self.tampered.manifest()
    self._refuses(
      "group_id of 'digit_0004': got 'g0', expected 'digit_0004' as in"
    )
    with mock.patch.object(
      example_checks, "check_groups"
    ):  # as of an unknown set
      self._refuses(
        "group_id, label of 'digit_0004': got .'g0', 4., but .'digit_0004', 4."
      )

  @parameterized.parameters(
    ([], "images"),
    ({}, "images"),
    ({"images": 1, "annotations": [], "categories": []}, "images"),
    ({"images": [{"id": "x"}], "annotations": [], "categories": []}, "id"),
  )
  def test_ground_truth_that_is_none(self, truth, message):
    Workdir(self.folder).write_truth(truth)
    self.tampered.manifest()
    self._refuses(f"^{self.folder}/truth.json: .*{message}")

  def test_fewer_that_the_config_says(self):
    self.folder = small.submission(self.root, limit=50)
    self.assertEqual(self._check().labels, {"digits_c": (50, 50)})


class LayoutTest(in_folder.TestCase):
  def test_files_have_their_paths_below_the_folder(self):
    for name in ("a.txt", "b/c.txt", "b/d/e.txt"):
      path = self.root / name
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_text(name)
    expected = {"a.txt", "b/c.txt", "b/d/e.txt"}
    self.assertEqual(layout.files_of(self.root), expected)

  def test_files_of_a_bucket(self):
    folder = fake_bucket.create(self) / "submission"
    (folder / "a.txt").write_text("a")
    (folder / "b" / "c.txt").write_text("c")
    self.assertEqual(layout.files_of(folder), {"a.txt", "b/c.txt"})

  @parameterized.parameters(
    "config.json",
    "truth.sha256",
    "models/a/weights.npz",
    f"examples/{'0' * 16}.npz",
    "cells/my%20net/imagenet_c/fog_3/seed0/predictions.npz",
    "cells/m%C3%BC/imagenet_c/clean/seed-1/provenance.json",
  )
  def test_names_of_a_submission(self, name):
    self.assertTrue(layout._ALLOWED.fullmatch(name))

  @parameterized.parameters(
    "scored.json",
    "config.json\n",
    "examples/x.npz",
    f"examples/{'0' * 16}.npz/x",
    "cells/a/predictions.npz",
    "cells/a/b/c/seed0/weights.pkl",
    "cells/a/b/../seed0/predictions.npz",
    "cells/a/.b/c/seed0/predictions.npz",
    "cells/a/b/c/seedx/predictions.npz",
    "models/a/variables/weights.npz",
    "models/a/weights.pkl",
  )
  def test_names_that_no_submission_has(self, name):
    self.assertFalse(layout._ALLOWED.fullmatch(name))

  def test_too_many_files(self):
    for i in range(3):
      (self.root / f"{i}").write_text("x")
    with self.assertRaisesRegex(errors.UserError, "more than 2 files"):
      with mock.patch.object(layout, "_MOST_FILES", 2):
        layout.files_of(self.root)


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
      {"table.csv": note.File.of(b"x")},
    )
    manifest_lib.write(self.root, self.manifest)
    self.path = self.root / manifest_lib.FILE

  def test_round_trip(self):
    self.assertEqual(manifest_lib.read(self.root), self.manifest)
    self.assertEqual(
      json.loads(self.path.read_text())["files"]["table.csv"]["size"], 1
    )

  @parameterized.parameters(
    ({"cells": 4}, "checksum"),
    ({"cells": "3"}, "cells: got '3'"),
    ({"cells": 0}, "cells: got 0"),
    ({"models": {}}, "models"),
    ({"files": {"a": 1}}, "files.a"),
    ({"more": 1}, "more: got 1"),
    ({"task": ""}, "task"),
    ({"version": 9}, "version: got 9, this code reads 1"),
  )
  def test_a_changed_field_is_named(self, changes, message):
    content = json.loads(self.path.read_text())
    self.path.write_text(json.dumps({**content, **changes}))
    with self.assertRaisesRegex(errors.UserError, f"^{self.path}: {message}"):
      manifest_lib.read(self.root)

  def test_a_text_that_would_print_lines_of_an_answer(self):
    self.manifest.models["a"] = small_runs.model_facts("a", trained_on="x\n- y")
    with self.assertRaisesRegex(
      errors.UserError, "trained_on: got .* one line"
    ):
      manifest_lib.write(self.root, self.manifest)
    content = json.loads(self.path.read_text())
    content["models"]["a"]["trained_on"] = "x\x1b[2K"
    self.path.write_text(json.dumps(small.with_checksum(content)))
    with self.assertRaisesRegex(
      errors.UserError, "trained_on: got .* one line"
    ):
      manifest_lib.read(self.root)

  def test_facts_that_earlier_code_did_not_know(self):
    content = json.loads(self.path.read_text())
    del content["models"]["a"]["corruptions_seen"]
    self.path.write_text(json.dumps(small.with_checksum(content)))
    read = manifest_lib.read(self.root)
    self.assertIsNone(read.models["a"].corruptions_seen)

  def test_one_of_a_hundred_mebibytes_is_not_opened(self):
    with self.path.open("r+b") as file:
      file.truncate(100 << 20)
    with self.assertRaisesRegex(errors.UserError, "the limit is 67,108,864"):
      manifest_lib.read(self.root)


_TRUTH = {
  "images": [
    {"id": 1, "width": 100, "height": 50},
    {"id": 2, "width": 100, "height": 50},
  ],
  "categories": [{"id": 3, "name": "a"}, {"id": 7, "name": "b"}],
  "annotations": [],
}
_NOISE = conditions.SEQUENCES.parse("gaussian_noise")
_TILT = conditions.SEQUENCES.parse("tilt")
_FOG = conditions.PICTURES.parse("fog_3")


def _ids(count=2) -> dict:
  ids = np.array([f"x{i}" for i in range(count)])
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(count, np.int32),
  }


def _classified() -> dict:
  return {
    **_ids(),
    "label": np.array([1, 2], np.int32),
    "top5": np.array([[1, 2, 3, 4, 5], [2, 3, -1, -1, -1]], np.int32),
    "score": np.float32([[0.5, 0.2, 0.1, 0.1, 0.1], [0.9, 0.1, 0, 0, 0]]),
    "nll": np.float32([0.6931472, 0.1053605]),
    "brier": np.float32([0.32, 0.02]),
  }


def _sequences(condition) -> dict:
  rng = np.random.default_rng(0)
  top5 = np.stack(
    [np.stack([rng.permutation(10)[:5] for _ in range(8)]) for _ in range(2)]
  ).astype(np.int32)
  noise = conditions.SEQUENCES.is_noise(condition.name)
  return {
    **_ids(),
    "label": np.array([1, 2], np.int32),
    "top5": top5,
    "score": np.full((2, 8, 5), 0.2, np.float32),
    **sequences._pair_columns(top5, noise),
    "zipf": np.zeros((2, 1 if noise else 3), np.float32),
  }


def _detected() -> dict:
  return {
    **_ids(),
    "image_id": np.array([1, 2], np.int64),
    "boxes": np.zeros((2, 3, 4), np.float32) + [1, 2, 30, 40],
    "scores": np.float32([[0.9, 0.8, 0.1], [0.5, 0, 0]]),
    "classes": np.array([[0, 1, 1], [0, -1, -1]], np.int16),
  }


def _frames() -> dict:
  return {
    **_classified(),
    "labels": np.array([[1, -1], [2, 3]], np.int32),
    "reviewed": np.ones(2, bool),
    "frame_type": np.array(["", ""]),
    "fps": np.zeros(2, np.float32),
    "linf": np.full(2, np.nan, np.float32),
  }


def _check(task, columns, condition=_FOG, classes=10) -> None:
  rules = values_lib.Rules(task, classes, _TRUTH)
  values_lib.check("x.npz", columns, rules, condition)


class ColumnsTest(parameterized.TestCase):
  """Columns of every task: what each may hold, and what is refused."""

  @parameterized.parameters(
    ("classification", _classified()),
    ("frames", _frames()),
    ("video", {**_classified(), "category": np.array(["a", "b"])}),
    ("sequences", _sequences(_NOISE), _NOISE),
    ("sequences", _sequences(_TILT), _TILT),
    ("detection", _detected()),
    ("detection", {**_ids(), "value": np.array([0.5, -1])}),
    (
      "detection",
      {
        **_ids(),
        "position": np.arange(2),
        "image_id": np.array([1, 1]),
        "category_id": np.array([3, 7]),
        "score": np.array([5.0, -1.0]),
        "bbox": np.zeros((2, 4)),
      },
    ),
  )
  def test_what_tasks_give_is_right(self, task, columns, condition=_FOG):
    _check(task, columns, condition)

  @parameterized.parameters(
    ("top5", (0, 0), 10, "classes 0 to 9, or -1"),
    ("top5", (0, 0), -2, "classes 0 to 9, or -1"),
    ("label", 0, -1, "classes 0 to 9"),
    ("label", 1, 10, "classes 0 to 9"),
    ("score", (0, 4), np.nan, "expected a number"),
    ("nll", 0, np.nan, "expected a number"),
    ("brier", 0, np.nan, "expected a number"),
  )
  def test_values_of_a_classifier(self, name, place, value, message):
    columns = _classified()
    columns[name][place] = value
    with self.assertRaisesRegex(
      errors.UserError, f"^x.npz: {name} of 'x[01]': got .*{message}"
    ):
      _check("classification", columns)

  @parameterized.parameters(
    ("boxes", (0, 0, 0), np.nan, "expected a number"),
    ("classes", (0, 0), 2, "classes 0 to 1, or -1"),
    ("classes", (0, 0), -2, "classes 0 to 1, or -1"),
  )
  def test_values_of_a_detector(self, name, place, value, message):
    columns = _detected()
    columns[name][place] = value
    with self.assertRaisesRegex(
      errors.UserError, f"^x.npz: {name} of 'x[01]': got .*{message}"
    ):
      _check("detection", columns)

  @parameterized.parameters("flips", "t5d")
  def test_what_follows_from_ranks_is_recomputed(self, name):
    columns = _sequences(_TILT)
    columns[name][1, 2] += 0.01
    with self.assertRaisesRegex(errors.UserError, "not what follows from top5"):
      _check("sequences", columns, _TILT)

  def test_boxes_of_another_shape(self):
    columns = {**_detected(), "boxes": np.zeros((2, 2, 4))}
    with self.assertRaisesRegex(errors.UserError, "boxes: got the shape"):
      _check("detection", columns)

  def test_columns_of_no_rows(self):
    empty = {k: v[:0] for k, v in _classified().items()}
    _check("classification", empty)
    _check("detection", {k: v[:0] for k, v in _detected().items()})
