"""Cells of a submission that are recomputed: which, and what is refused."""

import dataclasses
import shutil
from unittest import mock

import jax
import ml_collections
import numpy as np
import pytest
from absl.testing import parameterized

from eval.cells.cell import Cell
from eval.cells.workdir import Workdir
from eval.run.model import trained
from eval.submissions import checker, contents, rerun, writer
from robust_tfds import errors
from robust_tfds.conditions import Condition
from tests import in_folder
from tests.eval import tiny_runs
from tests.eval.submissions import small


def _other_weights(training):
  """f(...) that trains as another machine does: to other last bits."""

  def train_elsewhere(*arguments):
    variables = training(*arguments)
    return jax.tree.map(lambda x: np.nextafter(x, np.float32(9)), variables)

  return train_elsewhere


class RerunTest(in_folder.TestCase):
  """Cells are recomputed: which, and what is refused."""

  def test_the_draw_depends_on_its_seed_alone(self):
    labels = [f"m{i}" for i in range(20)]
    cells = [Cell(m, "digits_c", Condition()) for m in labels]
    draws = [rerun.drawn(cells, 4, seed) for seed in range(400)]
    self.assertEqual(draws[7], rerun.drawn(cells, 4, 7))
    self.assertEqual(rerun.drawn(cells, 99, 5), cells)
    self.assertTrue(all(len(set(drawn)) == 4 for drawn in draws))
    found = np.mean([cells[3] in drawn for drawn in draws])
    self.assertAlmostEqual(found, 4 / 20, delta=3 * np.sqrt(0.16 / 400))

  @parameterized.parameters(
    (lambda c: None, ""),
    (lambda c: c["score"][0].put(0, 0.60003), ""),  # rounding
    (lambda c: c["score"][0].put(0, 0.601), "1 of 300 rows"),
    (lambda c: c["top5"][:1].put([0, 1], [1, 0]), ""),  # a tie, perhaps
    (lambda c: c["top5"][:2].__setitem__(slice(None), 9), "2 of 300 rows"),
    (lambda c: c["label"].put(0, 9), "1 of 300 rows"),
    (lambda c: c.pop("score"), "300 rows of .*score"),
  )
  def test_what_counts_as_equal(self, change, message):
    ids = np.array([f"x{i:03d}" for i in range(300)])
    submitted = {
      "example_id": ids,
      "frame": np.zeros(300, np.int32),
      "label": np.zeros(300, np.int32),
      "top5": np.tile(np.arange(5, dtype=np.int32), (300, 1)),
      "score": np.tile(np.float32([0.6, 0.2, 0.1, 0.05, 0.05]), (300, 1)),
    }
    # The rows may stand in any order.
    found = {
      name: values[::-1].copy()[::-1] for name, values in submitted.items()
    }
    change(found)
    found = {name: values[::-1] for name, values in found.items()}
    cell = Cell("a", "digits_c", Condition())
    if not message:
      same = rerun._compare("x", cell, cell, submitted, found)
      expected = all((found[n][::-1] == submitted[n]).all() for n in submitted)
      self.assertEqual(same, expected)
      return
    with self.assertRaisesRegex(errors.UserError, message):
      rerun._compare("x", cell, cell, submitted, found)

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
    self.assertEqual(rerun._relocated(config, "").data.name, text)
    config.data.name = "pets"
    with self.assertRaisesRegex(errors.UserError, "--own_data=folder:"):
      rerun._relocated(config, "")

  @parameterized.parameters(
    ({"models": ["a"]}, "'elsewhere' follows from config.json"),
    (
      {"models": {"a": {"name": "shutil:rmtree"}}},
      "no submission says what code",
    ),
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
    with self.assertRaisesRegex(errors.UserError, "from another program"):
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
    self.assertIn(
      "--rerun trains again, and gets these weights only on a", text
    )
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
