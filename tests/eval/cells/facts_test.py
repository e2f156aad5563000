"""What a cell says of itself: facts, provenance, notes, packed columns."""

import dataclasses
import hashlib
import json

import numpy as np
from absl.testing import absltest, parameterized

from eval import tasks
from eval.cells import cell as cells_lib
from eval.cells import cell_facts, groups, provenance
from eval.cells.cell import Cell
from eval.cells.cell_facts import ModelFacts
from eval.cells.files import note as note_lib
from robust_tfds import conditions, errors
from tests import in_folder


class TaskFactsTest(parameterized.TestCase):
  """What is to be said of a task's numbers."""

  def test_plain_numbers_are_those_that_a_baseline_normalises(self):
    self.assertEqual(
      tasks.get("classification").facts.plain,
      {
        *("mean_corruption_error", "mean_error"),
        *("part_mean_corruption_error", "part_mean_error"),
        "held_out_mean_corruption_error",
      },
    )
    self.assertEmpty(tasks.get("video").facts.plain)

  @parameterized.parameters(*tasks.names())
  def test_facts_of_every_task_are_whole(self, name):
    task = tasks.get(name).facts
    self.assertEqual(task.task, name)
    self.assertIn(task.noun, ("corruption", "perturbation", "condition"))
    listed = (*task.headlines, *task.details)
    known = {m.name for m in (*listed, *task.others)}
    for group in (task.headlines, task.details, task.others):
      names = [m.name for m in group]
      self.assertLen(set(names), len(names))
    for metric in listed:
      self.assertNotEmpty(metric.heading)
      if metric.normalises:
        self.assertIn(metric.normalises, known)
        self.assertNotEmpty(task.normalised)


def data(**others):
  facts = {
    "dataset": "imagenet_c",
    "version": "1.0.0",
    "config": "clean",
    "split": "validation",
    "subset": "",
    "examples": 5,
    "source": "fly",
    "codec": "jpeg85",
    "edition": "imagenet",
    "geometry": "",
    "px": [224, 224],
    "settings": {"views": 1},
    "metric": 1,
    "pixels": 3,
    "content": "0" * 64,
    "decoders": "read with X 1",
  }
  return cell_facts.DataFacts(**facts | others)


class CellFactsTest(parameterized.TestCase):
  """Facts of a cell's data and model: words, hashes, what is missing."""

  def test_every_fact_is_in_the_hash(self):
    marks = {data().hash}
    others = [
      {"dataset": "x"},
      {"version": "2.0.0"},
      {"config": "x"},
      {"split": "x"},
      {"subset": "x"},
      {"examples": 6},
      {"source": "prepared"},
      {"codec": "raw"},
      {"edition": "x"},
      {"geometry": "x"},
      {"px": []},
      {"settings": {"views": 2}},
      {"metric": 2},
      {"pixels": 4},
      {"content": "1" * 64},
      {"decoders": "read with X 2"},
    ]
    marks |= {data(**other).hash for other in others}
    self.assertLen(marks, len(cell_facts.DataFacts.model_fields) + 1)

  def test_words_name_settings_by_themselves(self):
    words = data().words()
    self.assertEqual(words["views"], 1)
    self.assertNotIn("settings", words)

  def test_what_nobody_knows_is_missing(self):
    self.assertEmpty(data().missing)
    self.assertEqual(data(codec=None, px=None).missing, ["codec", "px"])

  def test_the_name_of_a_model_is_in_no_hash(self):
    one, two = (cell_facts.ModelFacts(name=n) for n in ("", "mine:build"))
    self.assertEqual(one.hash, two.hash)
    other = cell_facts.ModelFacts(trained_on="x")
    self.assertNotEqual(one.hash, other.hash)

  def test_an_update_of_a_decoder_leaves_the_fingerprint(self):
    model = cell_facts.ModelFacts()
    marks = {
      cell_facts.fingerprint(data(decoders=words), model, "clean", 0)
      for words in (None, "", "read with X 1", "read with X 2")
    }
    self.assertLen(marks, 1)

  def test_decoders_that_differ(self):
    same = [("a", "read with X 1"), ("b", "read with X 1")]
    self.assertEmpty(cell_facts.decoder_notes(same))
    (text,) = cell_facts.decoder_notes([*same, ("c", ""), ("d", None)])
    self.assertIn("read with X 1 (a, b); none (c); unknown (d).", text)

  def test_differences(self):
    differ = cell_facts.differences(
      data().words(), data(codec="raw", px=None).words()
    )
    self.assertEqual(
      differ, {"codec": ("jpeg85", "raw"), "px": ([224, 224], None)}
    )

  @parameterized.parameters(
    (["none"], []), ([" fog", "fog "], ["fog"]), (["jumbling"], ["jumbling"])
  )
  def test_corruptions_seen(self, names, expected):
    self.assertEqual(cell_facts.conditions_seen(names, "--x"), expected)

  def test_a_corruption_that_is_none(self):
    with self.assertRaisesRegex(
      errors.UserError, "^--x: .*'fogg'. Did you mean 'fog'.*Or 'none' alone"
    ):
      cell_facts.conditions_seen(["fogg"], "--x")


class FingerprintTest(absltest.TestCase):
  """Fingerprints: equal for equal facts, different for different ones."""

  def test_stored_value(self):
    """A change of this makes every old workdir refuse its cells."""
    got = provenance.fingerprint({"seed": 0, "dataset": "digits_c"})
    self.assertEqual(got, "f7de8e3223fb")

  def test_order_of_the_facts_does_not_matter(self):
    one, two = {"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1}
    self.assertEqual(provenance.fingerprint(one), provenance.fingerprint(two))
    self.assertNotEqual(
      provenance.fingerprint(one), provenance.fingerprint({**one, "b": [2, 1]})
    )


_CELL = Cell("m", "d", conditions.Condition("fog", 3), 7, "f")


class NoteTest(in_folder.TestCase):
  """The note of a finished cell: what it says and what it refuses."""

  def setUp(self):
    super().setUp()
    (self.root / "x.npz").write_bytes(b"columns")
    split = note_lib.split_of("test", np.array(["a", "a", "b"]))
    self.file = note_lib.File.from_bytes(b"columns")
    self.note = note_lib.make(
      _CELL.note(),
      split,
      {"x.npz": self.file},
      note_lib.File.from_bytes(b"ids"),
    )
    self.path = self.root / note_lib.FILE
    self.path.write_text(self.note.dumps())

  def _refuses(self, message: str) -> None:
    with self.assertRaisesRegex(errors.UserError, f"^{self.path}: {message}"):
      note_lib.read(self.root)

  def test_says_whose_and_of_what(self):
    note = note_lib.read(self.root)
    self.assertEqual(note, self.note)
    self.assertEqual(Cell.from_note(note), _CELL)
    self.assertEqual((note.split.rows, note.split.examples), (3, 2))
    self.assertEqual(note.files["x.npz"].size, 7)
    self.assertEqual(note.examples.size, 3)

  @parameterized.parameters(
    {"without": ("of_model", "without_output", "data", "by")},
    {"of_model": "", "random": False},
  )
  def test_fields_that_are_left_out_have_defaults(self, without=(), **fields):
    content = {**json.loads(self.path.read_text()), **fields}
    content = {k: v for k, v in content.items() if k not in without}
    del content["checksum"]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    self.path.write_text(json.dumps(content))
    self.assertEqual(note_lib.read(self.root).model, "m")

  def test_an_unknown_value_within_a_fact_stays(self):
    by = ModelFacts(weights="w", preprocessing={"crop": None})
    cell = dataclasses.replace(_CELL, model_facts=by)
    note = note_lib.make(cell.note(), self.note.split, {}, self.file)
    self.path.write_text(note.dumps())
    read = note_lib.read(self.root)
    self.assertEqual(read.model_facts, by)
    self.assertEqual(read.model_facts.hash, by.hash)

  def test_the_ids_are_told_apart(self):
    ids = [["ab", "c"], ["a", "bc"], ["ab", "c", "d"], ["c", "ab"]]
    marks = {note_lib.split_of("", np.array(i)).ids for i in ids}
    self.assertLen(marks, len(ids))

  @parameterized.parameters(
    ("", "the file is empty"),
    ("{", "line 1"),
    ("[]", ""),
    ("null", ""),
    ('{"model": "m"}', "version: got None, expected 2"),
    ('{"version": 1}', "version: got 1, expected 2"),
    ('{"version": 2}', "model: missing"),
  )
  def test_other_json(self, text, message):
    self.path.write_text(text)
    self._refuses(message)

  @parameterized.parameters(
    ({"severity": "3"}, "severity: got '3', expected a valid integer"),
    ({"severity": 4}, "checksum"),
    ({"model": "n"}, "checksum"),
    ({"more": 1}, "more"),
    ({"split": {}}, "split.name: missing"),
  )
  def test_changed_fields(self, changes, message):
    content = json.loads(self.path.read_text())
    self.path.write_text(json.dumps({**content, **changes}))
    self._refuses(message)

  def test_no_note(self):
    self.path.unlink()
    self._refuses("")


def _columns(names, ids="abcd"):
  return {"example_id": np.array(list(ids)), "group_id": np.array(list(names))}


class GroupsTest(absltest.TestCase):
  """Which examples belong together, whatever their groups are called."""

  def test_a_partition_has_no_names(self):
    one = groups.partition(_columns("xxyy"))
    self.assertLen(one, 64)
    self.assertEqual(one, groups.partition(_columns("9911")))
    self.assertNotEqual(one, groups.partition(_columns("xyxy")))
    self.assertNotEqual(one, groups.partition(_columns("xxxy")))

  def test_examples_of_their_own(self):
    self.assertEqual(groups.partition(_columns("abcd")), "")
    self.assertEqual(groups.partition(_columns("wxyz")), "")
    # Frames of one example.
    self.assertEqual(groups.partition(_columns("xxyy", ids="aabb")), "")

  def test_equal_groups_get_the_first_names(self):
    names = groups.Names()
    first = _columns("xxyy")
    self.assertIs(names.rename("d", first)["group_id"], first["group_id"])
    for other, expected in (
      (_columns("9911"), "xxyy"),
      (_columns("xyyy"), "xyyy"),
      (_columns("9911", ids="abce"), "9911"),
    ):
      got = names.rename("d", other)["group_id"]
      self.assertEqual("".join(got), expected)
    self.assertEqual(
      names.rename("other", _columns("9911"))["group_id"][0], "9"
    )


_FOG = cells_lib.Cell(
  "m", "digits_c", conditions.PICTURES.parse("fog_3"), 7, "0123456789ab"
)


def _note(cell: cells_lib.Cell) -> note_lib.Note:
  split = note_lib.split_of("test", np.array(["a"]))
  return note_lib.make(cell.note(), split, {}, note_lib.File.from_bytes(b""))


class CellTest(parameterized.TestCase):
  """A cell's rows and its note."""

  def test_what_is_undefined_says_so(self):
    row = _FOG.row("x", float("nan"), (float("nan"), 1))
    self.assertEqual((row.note, row.lo), ("undefined", None))
    self.assertFalse(row.has_value)

  @parameterized.parameters(
    *(
      (kind, c.config)
      for kind, family in conditions.FAMILIES.items()
      for c in family.conditions()[:3]
    )
  )
  def test_a_note_gives_the_cell_again(self, kind, config):
    condition = conditions.parse(config, kind)
    cell = cells_lib.Cell("m", "d", condition, 3, "f")
    self.assertEqual(cells_lib.Cell.from_note(_note(cell)), cell)

  def test_classes_without_an_output(self):
    cell = dataclasses.replace(_FOG, without_output=2, random=True)
    row = cell.row("error", 1, note="few")
    self.assertEqual(row.note, "few; random model; 2 classes without an output")
    summary = cells_lib.Summary.from_rows([row]).row("", "mce", 0.5)
    self.assertEqual(summary.note, "random model; 2 classes without an output")
    one = dataclasses.replace(_FOG, without_output=1).row("error", 1)
    self.assertEqual(one.note, "1 class without an output")
    self.assertEqual(cells_lib.Cell.from_note(_note(cell)), cell)

  def test_a_note_says_nothing_of_outputs_where_all_classes_have_one(self):
    note = _note(_FOG)
    self.assertNotIn("without_output", note.dumps())
    lacking = _note(dataclasses.replace(_FOG, without_output=2))
    self.assertIn('"without_output": 2', lacking.dumps())
    self.assertNotEqual(note.checksum, lacking.checksum)


class SummaryTest(absltest.TestCase):
  def _rows(self, *fingerprints):
    return [
      cells_lib.Cell("m", "d", conditions.Condition(), 7, f).row("error", 0.5)
      for f in fingerprints
    ]

  def test_fingerprint_covers_cells_and_baseline_but_no_order(self):
    marks = [
      cells_lib.Summary.from_rows(self._rows(*f), baseline).fingerprint
      for f, baseline in (("ab", ""), ("ba", ""), ("ac", ""), ("ab", "alexnet"))
    ]
    self.assertEqual(marks[0], marks[1])
    self.assertLen(set(marks), 3)
