"""Submissions as they are written, and cells that are run again."""

import dataclasses
import shutil
from unittest import mock

import jax
import ml_collections
import numpy as np
import pytest
from absl.testing import parameterized

from eval.cells.cell import Cell
from eval.cells.files import scored_folder
from eval.cells.workdir import Workdir
from eval.readers import base
from eval.run.model import trained
from eval.run.results import rescore
from eval.submissions import checker, contents, rerun, writer
from eval.submissions import manifest as manifest_lib
from robust_tfds import conditions, errors
from tests import in_folder
from tests.eval import tiny_runs
from tests.eval.cells.submissions import small
from tests.eval.readers import csv_test


class WriterTest(in_folder.TestCase):
  """What is exported, and what is refused."""

  def setUp(self):
    super().setUp()
    self.out = self.root / "out"

  def _export(self, *runs, trained_on=None, seen=None) -> str:
    return writer.export(runs, self.out, trained_on or {}, seen or {})

  def _refuses(self, message, *runs, **others) -> None:
    with self.assertRaisesRegex(errors.UserError, message):
      self._export(*runs, **others)

  def test_the_manifest_says_what_it_is_of(self):
    self._export(small.run(self.root / "run", ("a", "b")))
    manifest = manifest_lib.read(self.out)
    self.assertEqual((manifest.task, manifest.cells), ("classification", 6))
    self.assertEqual(list(manifest.models), ["a", "b"])
    (data,) = manifest.data.values()
    self.assertEqual((data.dataset, data.examples), ("digits_c", 359))
    self.assertContainsSubset({"config.json", "table.csv"}, manifest.files)
    self.assertLen(manifest.files, 2 + 1 + 2 * 6)

  def test_a_submission_is_exported_again_as_it_is(self):
    self._export(small.run(self.root / "run"))
    again = self.root / "again"
    writer.export([self.out], again, {}, {})
    one, other = manifest_lib.read(self.out), manifest_lib.read(again)
    self.assertEqual(one, other)

  def test_shards_are_one_submission(self):
    small.run(self.root / "one", ("a", "b"))
    small.run(self.root / "two", ("a", "b"))
    for name, gone in (("one", "b"), ("two", "a")):
      folder = self.root / name / "cells" / gone
      folder.rename(self.root / f"{name}-{gone}")
    self._export(self.root / "one", self.root / "two")
    self.assertEqual(manifest_lib.read(self.out).cells, 6)
    self.assertIn("consistent", checker.check(self.out))

  def test_several_runs_are_refused(self):
    one = small.run(self.root / "one")
    two = small.run(self.root / "two", ("b",))
    self._refuses("Got 2 runs .*, expected one", one, two)

  def test_a_score_of_files(self):
    rows = csv_test.rows_of(("fog",))
    path = csv_test.write(rows, self.root / "mine.csv")
    scored = self.root / "scored"
    rescore.score([path], scored, base.Options(dataset="other_c"))
    (label,) = {c.model for c in Workdir(scored).cells()}
    self._refuses("Nobody says what the model", scored)
    self._export(scored, trained_on={label: "pictures"})
    text = checker.check(self.out)
    self.assertIn("not verified", text)
    self.assertIn("that other_c has these examples and no others", text)
    self.assertIn("facts of 6 cells", text)

  def test_a_score_of_workdirs_stands_for_them(self):
    run = small.run(self.root / "run")
    scored = self.root / "scored"
    rescore.score([run], scored, base.Options())
    self.assertTrue(scored_folder.is_table_alone(scored))
    self._export(scored)
    self.assertIn("consistent", checker.check(self.out))

  def test_what_is_said_of_training_is_in_every_note(self):
    facts = {"trained_on": None, "corruptions_seen": None}
    run = small.run(self.root / "run", of_models=facts)
    words = {"a": "ImageNet-1k"}
    self._refuses("Nobody says what the model", run)
    text = self._export(run, trained_on=words, seen={"a": ["snow", "fog"]})
    self.assertIn("a submission of a: 3 cells, 9 files", text)
    for cell in Workdir(self.out).cells():
      assert cell.model_facts
      self.assertEqual(cell.model_facts.trained_on, "ImageNet-1k")
      self.assertEqual(cell.model_facts.corruptions_seen, ["fog", "snow"])
    noted = (self.out / "table.csv").read_text("utf-8")
    self.assertIn("trained on snow, fog", noted)
    checked = checker.check(self.out)
    self.assertIn("3 fingerprints", checked)
    self.assertIn("a: trained on ImageNet-1k; test corruptions seen", checked)

  def test_what_the_run_says_is_not_said_otherwise(self):
    run = small.run(self.root / "run")
    words = {"a": "something else"}
    self._refuses("but the run says 'digits train'", run, trained_on=words)
    self._refuses("but the run says", run, seen={"a": ["fog"]})
    self._refuses("model of .*'c'.*Known: a", run, trained_on={"c": "x"})

  def test_nothing_is_overwritten_or_left(self):
    run = small.run(self.root / "run")
    self.out.mkdir()
    (self.out / "mine.txt").write_text("x")
    self._refuses("something is there", run)
    (self.out / "mine.txt").unlink()
    self.out.rmdir()
    condition = conditions.PICTURES.parse("fog_3").config
    place = run / "cells/a/digits_c" / condition / "seed0/predictions.npz"
    place.write_bytes(b"x" + place.read_bytes()[1:])
    self._refuses("predictions.npz", run)
    self.assertFalse(self.out.exists())

  def test_no_run(self):
    self._refuses("there is no such folder", self.root / "nowhere")

  def test_the_table_is_that_of_the_predictions_and_not_the_runs(self):
    run = small.run(self.root / "run")
    (run / "table.csv").write_text("nonsense")
    self._export(run)
    self.assertIn("error", (self.out / "table.csv").read_text())


_PLACE = {c: i for i, c in enumerate(conditions.PICTURES.conditions())}


def _cells(labels):
  """All of two models, or one, as a run over ImageNet-C has them."""
  listed = list(_PLACE)[:96]
  return [Cell(m, "digits_c", c) for m in labels for c in listed]


def _other_weights(training):
  """f(...) that trains as another machine does: to other last bits."""

  def train_elsewhere(*arguments):
    variables = training(*arguments)
    return jax.tree.map(lambda x: np.nextafter(x, np.float32(9)), variables)

  return train_elsewhere


def _boxes_of_truth(truth, columns):
  """A cell whose boxes are those of the ground truth, all of score 1."""
  boxes = {i: [] for i in columns["image_id"].tolist()}
  for a in truth["annotations"]:
    boxes[a["image_id"]].append((a["bbox"], a["category_id"]))
  place = {c["id"]: i for i, c in enumerate(truth["categories"])}
  shape = len(boxes), max(map(len, boxes.values()))
  out, classes = np.zeros((*shape, 4), np.float32), np.full(shape, -1, np.int16)
  for i, listed in enumerate(boxes.values()):
    for j, ((x, y, w, h), category) in enumerate(listed):
      out[i, j], classes[i, j] = (x, y, x + w, y + h), place[category]
  scores = (classes >= 0).astype(np.float32)
  return {**columns, "boxes": out, "classes": classes, "scores": scores}


class RerunTest(in_folder.TestCase):
  """Cells are computed again: which, and what is refused."""

  def test_no_text_of_a_submission_steers_the_draw(self):
    folder = small.submission(self.root, ("a", "b"))
    cells = contents.read(folder).cells
    first = rerun.drawn(cells, 2, 5)
    manifest = manifest_lib.read(folder).model_copy(update={"code": "0.1.1"})
    manifest_lib.write(folder, manifest.signed())
    self.assertEqual(rerun.drawn(contents.read(folder).cells, 2, 5), first)
    self.assertEqual(rerun.drawn(cells, 99, 5), cells)

  @parameterized.parameters((8, (4, 4)), (7, (3, 4)), (3, (1, 2)), (1, (0, 1)))
  def test_draws_are_of_every_model_and_spread_over_its_conditions(
    self, count, each
  ):
    cells = _cells(("a", "b"))
    for seed in range(30):
      drawn = rerun.drawn(cells, count, seed)
      of_model = {m: [c for c in drawn if c.model == m] for m in "ab"}
      self.assertEqual(tuple(sorted(map(len, of_model.values()))), each)
      for listed in of_model.values():  # no two of 24 neighbours
        parts = [_PLACE[c.condition] * len(listed) // 96 for c in listed]
        self.assertEqual(parts, list(range(len(listed))))
    self.assertGreater(
      len({tuple(rerun.drawn(cells, count, s)) for s in range(30)}), 20
    )

  @parameterized.product(forged=(1, 10, 40), spread=(False, True))
  def test_how_often_a_forgery_is_drawn(self, forged, spread):
    # docs/RESULTS.md: of n cells of which k are drawn, wherever f lie.
    cells, drawn = _cells(("a",)), 8
    places = range(0, 96, 96 // forged) if spread else range(96)
    wrong = {cells[i] for i in list(places)[:forged]}
    found = np.mean(
      [bool(wrong & set(rerun.drawn(cells, drawn, s))) for s in range(400)]
    )
    least = 1 - (1 - forged / 96) ** drawn
    self.assertGreater(found, least - 3 * np.sqrt(0.25 / 400))

  @parameterized.parameters(
    (lambda top5, score: None, False),
    (lambda top5, score: top5[0].put([1, 2], [2, 1]), False),  # of one score
    (lambda top5, score: top5[0].put(4, 9), False),  # behind the last
    (lambda top5, score: top5[0].put([0, 1], [1, 0]), True),
    (lambda top5, score: top5[0].put(2, 9), True),  # where 2 was, and not last
    (lambda top5, score: score[0].put(0, 0.61), True),
    (lambda top5, score: score[0].put(0, 0.6004), True),
    (lambda top5, score: score[0].put(0, 0.60004), False),
    (lambda top5, score: top5[0].put([3, 4], [4, 3]), True),  # .001 and .0005
    (
      lambda top5, score: top5[0].put(4, 7),
      True,
    ),  # the true class, which has less
    (lambda top5, score: score[0].put([1, 2], [0.2001, 0.1999]), True),
  )
  def test_classes_of_one_score_change_places(self, change, differs):
    columns = {
      "top5": np.arange(5, dtype=np.int32)[None].repeat(2, axis=0),
      "score": np.float32([[0.6, 0.2, 0.2, 0.001, 0.0005]] * 2),
      "label": np.int32([7, 0]),
      "nll": -np.log(np.float32([0.0002, 0.6])),
    }
    other = {name: values.copy() for name, values in columns.items()}
    change(other["top5"], other["score"])
    differ = [rerun._differ(name, other, columns) for name in columns]
    self.assertEqual(np.any(differ, axis=0).tolist(), [differs, False])

  @parameterized.parameters((1, False), (2, True))
  def test_a_model_that_cannot_tell_its_classes_apart(self, rows, refused):
    # Whoever makes all scores equal does not choose the first class by it.
    folder = small.submission(self.root)
    run, workdir = contents.read(folder), Workdir(folder)
    cell = run.cells[0]

    def flat(columns):
      columns["score"] = np.full_like(columns["score"], 0.1)

    small.Tampered(folder).columns(flat, cell.condition.config)
    small.Tampered(folder).all_hashes()
    claimed = {k: v[::-1].copy() for k, v in workdir.columns(cell).items()}
    claimed["top5"][:rows] = np.roll(claimed["top5"][:rows], 1, axis=1)
    run = dataclasses.replace(run, columns=lambda _: claimed)
    arguments = folder, run, {cell: (cell, workdir)}, cell
    if not refused:  # whatever the order of the rows
      self.assertEqual(rerun._compare(*arguments), (False, rows))
      return
    with self.assertRaisesRegex(
      errors.UserError, r"2 of 359 rows .* Error is 0.0000 here, 0.0056 in"
    ):
      rerun._compare(*arguments)

  @pytest.mark.slow
  def test_a_detector_that_gives_every_box_one_score(self):
    folder = tiny_runs.folder("detection")
    run = contents.read(folder)
    columns = _boxes_of_truth(run.truth, run.columns(run.cells[0]))
    columns["boxes"][::2] += 500  # every other picture has no box that fits
    columns["scores"] /= 2
    better = {**columns, "scores": columns["scores"].copy()}
    better["scores"][1::2] *= np.float32(1 + 5e-5)
    self.assertFalse(rerun._differ("scores", better, columns).any())
    apart, words = rerun._numbers(run, run.cells[0], better, columns)
    self.assertGreater(apart, 0.05)
    self.assertRegex(words, r"^AP is 0\.\d+ here, 0\.\d+ in the submission\.$")
    same, _ = rerun._numbers(run, run.cells[0], columns, columns)
    self.assertEqual(same, 0)
    workdir = mock.Mock(columns=lambda _: columns)
    run = dataclasses.replace(run, columns=lambda _: better)
    made = {run.cells[0]: (run.cells[0], workdir)}
    with self.assertRaisesRegex(errors.UserError, "AP is .* so near to one"):
      rerun._compare(folder, run, made, run.cells[0])

  @parameterized.parameters(
    ({"data_dir": "gs://mine/data"}, "config.data.data_dir=gs://mine/data"),
    ({"frost_dir": "hf://mine/frost"}, "config.data.frost_dir=hf"),
  )
  def test_no_place_of_the_submitter_is_read(self, data, message):
    folder = small.submission(self.root)
    run = contents.read(folder)
    config = run.config.copy_and_resolve_references().unlock()
    config.data.update(data)
    run = dataclasses.replace(run, config=config.lock())
    with self.assertRaisesRegex(errors.UserError, message):
      rerun._settings(run, run.cells[0], self.root)

  @parameterized.parameters(
    ("imagenet_a", "imagenet_a"),
    ("imagenet_v2_topimages", "imagenet_v2/topimages"),
    ("objectnet_reference", "objectnet/reference"),
  )
  def test_a_natural_set_is_nobodys_own(self, name, text):
    config = ml_collections.ConfigDict({"data": {"name": name}})
    self.assertEqual(rerun._of_own_data(config, "").data.name, text)
    config.data.name = "pets"
    with self.assertRaisesRegex(errors.UserError, "--own_data=folder:"):
      rerun._of_own_data(config, "")

  @parameterized.parameters(
    ({"models": ["a"]}, "'elsewhere' follows from config.json"),
    ({"models": {"a": {"name": "shutil:rmtree"}}}, "code of the submitter"),
  )
  def test_models_that_are_not_run(self, settings, message):
    folder = small.submission(self.root)
    tampered = small.Tampered(folder)
    tampered.config(lambda c: c.update(settings))
    name = {"name": "shutil:rmtree"}
    tampered.notes(lambda note: note["by"].update(name))
    tampered.manifest(lambda m: m["models"]["a"].update(name))
    with self.assertRaisesRegex(errors.UserError, message):
      checker.check(folder, rerun=2)

  def test_predictions_of_another_program(self):
    config = ml_collections.ConfigDict({"model": {"name": ""}})
    with self.assertRaisesRegex(errors.UserError, "of another program"):
      rerun._check_models(config)

  def test_a_count_that_is_none(self):
    with self.assertRaisesRegex(errors.UserError, "--rerun=-1"):
      checker.check(self.root, rerun=-1)

  @pytest.mark.slow
  def test_a_run_whose_weights_are_gone(self):
    run = tiny_runs.copy("classification", self.root / "run")
    shutil.rmtree(run / "models")
    folder = self.root / "out"
    text = writer.export([run], folder, {}, {})
    self.assertIn("The weights of digits_cnn", text)
    self.assertIn("--rerun trains anew, and gets these on a machine like", text)
    self.assertNotIn("weights of digits_cnn: of", checker.check(folder))
    with mock.patch.object(trained, "_train", _other_weights(trained._train)):
      with self.assertRaisesRegex(
        errors.UserError, "this submission does not hold"
      ):
        checker.check(folder, rerun=2)

  @pytest.mark.slow
  def test_a_run_is_reproduced_and_a_made_up_one_is_not(self):
    folder = self.root / "out"
    writer.export([tiny_runs.folder("classification")], folder, {}, {})
    # As on a machine where training gives other weights.
    with mock.patch.object(trained, "_train", side_effect=AssertionError):
      text = checker.check(folder, rerun=2, rerun_seed=1)
    self.assertIn("not verified:", text)
    self.assertIn("- that training digits_cnn as config.json says gives", text)
    of = len(Workdir(folder).cells())
    self.assertStartsWith(text, f"reproduced, 2 of {of} cells: ")
    self.assertIn(f"2 of {of} cells, drawn by --rerun_seed=1, computed", text)
    self.assertIn("2 of them are equal in every bit", text)
    self.assertIn(
      f"not verified:\n- that the models gave the predictions of the other {of - 2}",
      text,
    )
    self.assertIn("digits_c: its examples and labels, from the data", text)
    # Whoever gives a picture what another of its class was given is consistent.
    cells = Workdir(folder).cells()
    tampered = small.Tampered(folder)

    def exchanged(columns):
      (path,) = (folder / "examples").iterdir()
      labels = small.packed.loads(path.read_bytes(), "x")["label"]
      order = np.arange(len(labels))
      for label in np.unique(labels):
        places = np.flatnonzero(labels == label)
        order[places] = np.roll(places, 1)
      for name in set(columns) - {"example_id"}:
        columns[name] = columns[name][order]

    for cell in cells:
      if cell.model == "digits_cnn":
        tampered.columns(exchanged, cell.condition.config, cell.model)
    tampered.all_hashes()
    self.assertStartsWith(checker.check(folder), "consistent")
    with self.assertRaisesRegex(
      errors.UserError, "rows of digits_cnn .* come out otherwise, the first is"
    ):
      checker.check(folder, rerun=2)
