"""Submissions as they are written, and cells that are recomputed."""

from eval.cells.files import scored_folder
from eval.cells.workdir import Workdir
from eval.readers import base
from eval.run.results import rescore
from eval.submissions import checker, writer
from eval.submissions import manifest as manifest_lib
from robust_tfds import conditions, errors
from tests import in_folder
from tests.eval.readers import csv_test
from tests.eval.submissions import small


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
    self._refuses("The training data of the model", scored)
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
    self._refuses("The training data of the model", run)
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
    self._refuses("the run recorded 'digits train'", run, trained_on=words)
    self._refuses("but the run recorded", run, seen={"a": ["fog"]})
    self._refuses("model of .*'c'.*Known: a", run, trained_on={"c": "x"})

  def test_nothing_is_overwritten_or_left(self):
    run = small.run(self.root / "run")
    self.out.mkdir()
    (self.out / "mine.txt").write_text("x")
    self._refuses("is not empty. Name a new folder", run)
    (self.out / "mine.txt").unlink()
    self.out.rmdir()
    condition = conditions.PICTURES.parse("fog_3").config
    place = run / "cells/a/digits_c" / condition / "seed0/predictions.npz"
    place.write_bytes(b"x" + place.read_bytes()[1:])
    self._refuses("predictions.npz", run)
    self.assertFalse(self.out.exists())

  def test_the_table_is_that_of_the_predictions_and_not_the_runs(self):
    run = small.run(self.root / "run")
    (run / "table.csv").write_text("nonsense")
    self._export(run)
    self.assertIn("error", (self.out / "table.csv").read_text())
