"""Cells are computed again: which, and what is refused."""

import numpy as np
import pytest
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.eval.cells.submissions import checker, contents, rerun, writer
from robust_tfds.eval.cells.submissions import manifest as manifest_lib
from robust_tfds.eval.cells.workdir import Workdir
from tests import in_folder
from tests.eval import tiny_runs
from tests.eval.cells.submissions import small


class RerunTest(in_folder.TestCase):
  def test_the_choice_follows_from_the_manifest(self):
    folder = small.submission(self.root, ("a", "b"))
    manifest = manifest_lib.read(folder)
    cells = contents.read(folder).cells
    first = rerun.chosen(manifest, cells, 2)
    self.assertEqual(rerun.chosen(manifest, cells[::-1], 2), first)
    self.assertEqual(rerun.chosen(manifest, cells, 3)[:2], first)
    self.assertLen(rerun.chosen(manifest, cells, 99), 6)
    others = {
      tuple(
        c.place
        for c in rerun.chosen(
          manifest.model_copy(update={"checksum": str(i)}), cells, 2
        )
      )
      for i in range(20)
    }
    self.assertGreater(len(others), 5)

  @parameterized.parameters(
    ({"models": ["a"]}, "of another program"),
    ({"models": {"a": {"name": "shutil:rmtree"}}}, "code of the submitter"),
  )
  def test_models_that_are_not_run(self, settings, message):
    folder = small.submission(self.root)
    tampered = small.Tampered(folder)
    tampered.config(lambda c: c.update(settings))
    tampered.manifest()
    with self.assertRaisesRegex(errors.UserError, message):
      checker.check(folder, rerun=1)

  def test_a_count_that_is_none(self):
    with self.assertRaisesRegex(errors.UserError, "--rerun=-1"):
      checker.check(self.root, rerun=-1)

  @pytest.mark.slow
  def test_a_run_is_reproduced_and_a_made_up_one_is_not(self):
    folder = self.root / "out"
    writer.export([tiny_runs.folder("classification")], folder, {}, {})
    text = checker.check(folder, rerun=2)
    self.assertStartsWith(text, "reproduced")
    self.assertIn("2 of them are equal in every bit", text)
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
      tampered.columns(exchanged, cell.condition.config, cell.model)
    tampered.all_hashes()
    self.assertStartsWith(checker.check(folder), "consistent")
    with self.assertRaisesRegex(
      errors.UserError, "rows of digits_cnn .* come out otherwise, the first is"
    ):
      checker.check(folder, rerun=1)
