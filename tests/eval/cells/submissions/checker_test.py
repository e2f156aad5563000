"""A whole submission is consistent; tampered ones are refused, each in words."""

import contextlib
import hashlib
import os
import pathlib
import shutil

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.building import base
from robust_tfds.conditions import Condition
from robust_tfds.eval.cells import packed
from robust_tfds.eval.cells.submissions import checker
from robust_tfds.eval.cells.workdir import Workdir
from tests.eval.cells.submissions import door, small


def _set(name, place, value):
  """f(columns) that changes one value."""

  def change(columns):
    columns[name] = columns[name].copy()
    columns[name][place] = value

  return change


def _dropped(columns):
  """The last example is left out."""
  for name, values in columns.items():
    columns[name] = values[:-1]


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
    """At the command's door: exit status 1, the file and the reason."""
    status, text = door.check(self.folder)
    self.assertEqual(status, 1, text)
    self.assertRegex(text, "^Error: ")
    self.assertRegex(text, message)
    self.assertNotIn("Traceback", text)
    self.assertNotIn("--repair", text)

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

  # What is changed without its hashes.

  def test_a_changed_prediction(self):
    self.tampered.columns(_set("top5", (0, 0), 3))
    self._refuses("a/digits_c/fog_3/seed0/predictions.npz: .*sha256|bytes")

  def test_a_changed_note(self):
    name = "cells/a/digits_c/fog_3/seed0/provenance.json"
    self.tampered.json(name, lambda note: note.update(seed=1))
    self._refuses(f"{name}: .*(sha256|bytes)")

  def test_a_changed_row_of_the_table(self):
    path = self.folder / "table.csv"
    path.write_text(path.read_text().replace("0.1", "0.2", 1))
    self._refuses("table.csv: its sha256 is not that in submission.json")

  def test_a_changed_hash(self):
    def change(content):
      content["files"]["table.csv"]["sha256"] = "0" * 64

    self.tampered.json("submission.json", change)
    self._refuses("submission.json: checksum: it is not that of the other")

  # What is changed, and all hashes with it.

  def test_a_changed_prediction_with_its_hashes(self):
    self.tampered.columns(_set("top5", (5, slice(None)), [7, 8, 9, 1, 2]))
    self.tampered.notes()
    self.tampered.manifest()
    self._refuses("table.csv: line .*but the predictions give")

  def test_a_changed_label_in_one_cell(self):
    # Examples of its own for one cell: written as another run would.
    def change(columns):
      for name in ("example_id", "group_id"):
        columns[name] = np.char.replace(columns[name], "digit", "x")

    self.tampered.examples(change)
    self.tampered.all_hashes()
    self._refuses("digits_c has no example 'x_0004' .359 of 359")

  def test_groups_that_the_set_does_not_have(self):
    def change(columns):
      ids = columns["example_id"]
      columns["group_id"] = np.array([f"g{i % 30}" for i in range(len(ids))])

    self.tampered.examples(change)
    self.tampered.notes()
    self.tampered.manifest()
    self._refuses("group_id of 'digit_0004': got 'g0', but in digits_c it is")

  def test_a_dropped_example_with_its_hashes(self):
    self.tampered.examples(_dropped)
    for name in small.CONFIGS:
      for label in ("a", "b"):
        self.tampered.columns(_dropped, name, label)
    self.tampered.all_hashes()
    self._refuses("358 examples, but the facts of the data say 359")

  def test_a_changed_fact_of_the_data(self):
    self.tampered.notes(lambda note: note["data"].update(codec="lossless"))
    self.tampered.manifest()
    self._refuses("data: submission.json has no such facts")

  def test_a_changed_fact_everywhere(self):
    small.with_facts(self.tampered, marks=False, version="1.0.1")
    self._refuses("fingerprint: .* is not the hash of the facts beside it")

  def test_a_name_that_is_not_the_configs(self):
    self.tampered.config(lambda c: c["models"]["a"].update(name="resnet50"))
    self.tampered.manifest()
    self._refuses("models.a.name: got 'digits_cnn', but config.json has 'resn")

  def test_a_changed_fingerprint(self):
    self.tampered.notes(lambda note: note.update(fingerprint="0" * 12))
    self.tampered.table()
    self.tampered.manifest()
    self._refuses("fingerprint: 000000000000 of the model")

  def test_values_that_no_model_gives(self):
    self.tampered.columns(_set("top5", (0, 1), 10), "clean")
    self.tampered.notes()
    self.tampered.manifest()
    self._refuses("clean/seed0/predictions.npz: top5 of 'digit_0004'.*0 to 9")

  def test_columns_of_another_task(self):
    boxes = np.zeros((359, 1, 4), np.float32)
    self.tampered.columns(lambda columns: columns.update(boxes=boxes))
    self.tampered.all_hashes()
    self._refuses("the column 'boxes' is none of the task classification")

  # Files.

  def test_a_file_too_many(self):
    (self.folder / "more.txt").write_text("x")
    self._refuses("more.txt: submission.json does not name this file")

  def test_an_examples_file_that_no_cell_needs(self):
    (self.folder / "examples" / f"{'0' * 16}.npz").write_bytes(b"x")
    self.tampered.manifest()
    self._refuses("0000.npz: it belongs to no finished cell")

  def test_an_empty_folder(self):
    (self.folder / "empty").mkdir()
    self._refuses("empty: an empty folder")

  @parameterized.parameters("table.csv", "config.json", "submission.json")
  def test_a_missing_file(self, name):
    (self.folder / name).unlink()
    self._refuses(name)

  def test_a_missing_cell_is_named(self):
    shutil.rmtree(self.tampered.cell().parent)
    self._refuses("fog_3/seed0/p.*: there is no such file, but submission.json")

  def test_a_missing_cell_that_nobody_names(self):
    shutil.rmtree(self.tampered.cell().parent)
    self.tampered.manifest()
    self._refuses("submission.json: cells: got 6, but there are 5")
    self.tampered.table()
    self.tampered.manifest(lambda m: m.update(cells=5))
    text = door.check(self.folder)[1]
    self.assertIn("5 of the 6 cells that config.json names", text)

  def test_a_data_set_of_which_no_cell_is_there(self):
    self.tampered.config(lambda c: c["data"].update(name="cifar10_c,digits_c"))
    self.tampered.manifest()
    text = door.check(self.folder)[1]
    self.assertIn("6 of the 12 cells that config.json names", text)

  def test_a_model_that_the_config_does_not_have(self):
    self.tampered.config(lambda c: c["models"].pop("b"))
    self.tampered.manifest()
    self._refuses("model: got 'b', but config.json has a")

  @parameterized.parameters(
    ({"limit": 300}, "limit takes the first 300 .* 'digit_.* is none of them"),
    ({"limit": 299}, "300 examples, but the limit takes the first 299"),
    ({"subset": "robustbench5k"}, "data.subset: got '', but config.json has"),
  )
  def test_easy_examples(self, settings, message):
    self._pick(range(59, 359), settings)
    self._refuses(message)

  @parameterized.parameters(
    ("robustbench5k", "are not those of the subset robustbench5k"),
    ("mine", "expected one of robustbench5k, or a file's stem"),
    ("robustbench5k-01234567", "expected one of robustbench5k, or a file's"),
  )
  def test_easy_examples_as_a_subset(self, subset, message):
    self._pick(range(59, 359), {"subset": subset}, subset=subset)
    self._refuses(message)

  def test_a_subset_of_a_file(self):
    ids = small.columns(Condition())["example_id"][59:].tolist()
    lines = "\n".join(ids).encode()
    name = f"mine-{hashlib.sha256(lines).hexdigest()[:8]}"
    self._pick(range(59, 359), {"subset": name}, subset=name)
    text = door.check(self.folder)[1]
    self.assertIn(f"300 examples of the subset {name}, by their ids", text)
    self.assertIn(f"- how the subset {name} was chosen: by a file of", text)
    other = "mine-12345678"
    self.tampered.config(lambda c: c["data"].update(subset=other))
    small.with_facts(self.tampered, subset=other)
    text = door.check(self.folder)[1]
    self.assertIn("submitter's, whose ids are not at hand", text)

  def test_the_first_examples(self):
    ids = small.columns(Condition())["example_id"].tolist()
    first = sorted(ids, key=lambda i: base.place("test", i))[:300]
    self._pick([ids.index(i) for i in sorted(first)], {"limit": 300})
    text = door.check(self.folder)[1]
    self.assertIn("digits_c: the first 300 of its 359 examples, by", text)

  def _pick(self, places, settings, **facts) -> None:
    """Leaves some examples alone, and says so everywhere."""

    def pick(columns):
      columns.update({k: v[list(places)] for k, v in columns.items()})

    self.tampered.examples(pick)
    for name in small.CONFIGS:
      for label in ("a", "b"):
        self.tampered.columns(pick, name, label)
    self.tampered.config(lambda c: c["data"].update(settings))
    small.with_facts(self.tampered, examples=len(places), **facts)

  def test_a_link(self):
    path = self.folder / "table.csv"
    path.rename(self.folder.parent / "table.csv")
    path.symlink_to(self.folder.parent / "table.csv")
    self._refuses("table.csv: a symbolic link; a submission holds plain files")

  def test_a_folder_behind_a_link(self):
    folder = self.tampered.cell()
    folder.rename(self.folder.parent / "elsewhere")
    folder.symlink_to(self.folder.parent / "elsewhere")
    self._refuses("seed0: a symbolic link")

  def test_a_hard_link(self):
    os.link(self.folder / "table.csv", self.folder.parent / "other")
    self._refuses("table.csv: a hard link")

  def test_a_pipe(self):
    os.mkfifo(self.folder / "pipe")
    self._refuses("pipe: neither a file nor a folder")

  def test_a_pickle(self):
    small.pickled(self.tampered.cell() / "predictions.npz")
    self.tampered.notes()
    self.tampered.manifest()
    self._refuses("predictions.npz: 'score': Python objects .a pickle")

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

  def test_names_that_differ_by_case(self):
    def change(content):
      for name, file in list(content["files"].items()):
        if name.startswith("cells/a/"):
          content["files"][name.replace("cells/a/", "cells/A/")] = file

    self.tampered.manifest(change)
    self._refuses("are one file where file systems take large letters")

  @parameterized.parameters(
    ("submission.json", "{", "submission.json: line 1, column 2: not JSON"),
    ("submission.json", "[]", "submission.json: version: got None"),
    ("submission.json", '{"version": 2}', "version: got 2, this code reads 1"),
    ("submission.json", '{"version": 1}', "submission.json: code: missing"),
    ("config.json", "{", "config.json: line 1"),
    ("cells/a/digits_c/clean/seed0/provenance.json", "{", "json: line 1"),
  )
  def test_damaged_json(self, name, text, message):
    (self.folder / name).write_text(text)
    if name != "submission.json":
      self.tampered.manifest()
    self._refuses(message)

  def test_a_claim_of_too_many_bytes(self):
    size = 1 << 60
    self.tampered.manifest(lambda m: m["files"]["table.csv"].update(size=size))
    self._refuses("bytes of files, the limit is")

  def test_rows_that_a_file_only_promises(self):
    path = self.tampered.cell() / "predictions.npz"
    columns = packed.pack(packed.loads(path.read_bytes(), "x"))
    columns["a.str"] = np.zeros(1 << 20, np.uint8)
    columns["a.lengths"] = np.zeros(1 << 20, np.int64)
    columns["a.lengths"][0] = 1 << 20
    small.write_packed(path, columns)
    self.tampered.notes()
    self.tampered.manifest()
    self._refuses("fog_3/seed0/predictions.npz: .*bytes of arrays")

  def test_detections_that_a_file_only_promises(self):
    path = self.tampered.cell() / "predictions.npz"
    columns = {
      "boxes.ragged": np.zeros((0, 4), np.float32),
      "scores.ragged": np.zeros(0, np.float32),
      "classes.ragged": np.zeros(0, np.int16),
      "detections.lengths": np.array([1 << 40] + [0] * 359, np.int64),
    }
    small.write_packed(path, columns)
    self.tampered.notes()
    self.tampered.manifest()
    self._refuses("fog_3/seed0/predictions.npz: .*bytes of arrays")

  def test_a_model_of_which_nobody_says_what_it_was_trained_on(self):
    self.tampered.manifest(lambda m: m["models"]["a"].update(trained_on=" "))
    self._refuses("submission.json: models.a.trained_on: missing")

  def test_other_settings(self):
    self.tampered.config(lambda c: c["data"].update(corruptions="snow"))
    self.tampered.manifest()
    self._refuses("fog_1 is none of the conditions of config.json")

  def test_settings_of_another_type(self):
    self.tampered.config(lambda c: c["data"].update(limit="x"))
    self.tampered.manifest()
    self._refuses("config.json: data.limit")

  def test_no_conditions(self):
    self.tampered.config(lambda c: c["data"].pop("corruptions"))
    self.tampered.manifest()
    self._refuses("config.data.corruptions: missing")

  @parameterized.parameters(
    {"task": "nothing"}, {"task": "video"}, {"baseline": "model:c"}
  )
  def test_settings_that_fit_no_task(self, **settings):
    self.tampered.config(lambda c: c.update(settings))
    self.tampered.manifest()
    self._refuses(".")

  def test_no_submission(self):
    with self.assertRaisesRegex(errors.UserError, "is no submission"):
      checker.check(self.root / "run")
    with self.assertRaisesRegex(errors.UserError, "there is no such folder"):
      checker.check(self.root / "nowhere")
