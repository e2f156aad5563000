"""What a training begins with: whose head it keeps, and whose it draws anew."""

import jax
import numpy as np
import pytest
from absl.testing import parameterized
from etils import epath

from models import variables as variables_lib
from models import weights_file
from models.training import initial, run
from robust_tfds import errors, missing, models
from tests import in_folder
from tests.models.training import tiny_trainings

_TEN = [str(i) for i in range(10)]


def _flat(variables) -> dict:
  return {"/".join(p): x for p, x in variables_lib.flatten(variables).items()}


class InitialTest(in_folder.TestCase):
  def _of(self, checkpoint, model, classes=_TEN):
    config = tiny_trainings.config(
      model={"name": model.name, "checkpoint": str(checkpoint)}
    )
    lines: list[str] = []
    return initial.load_initial(config, model, classes, lines.append), lines

  def _kept(self, name: str, classes: int):
    """A checkpoint of so many classes."""
    file = epath.Path(self.root) / f"{name}.npz"
    variables = models.get(name, classes).init(jax.random.key(7))
    weights_file.write(file, jax.tree.map(np.asarray, variables))
    return file, variables

  def _check(self, name: str, head: set[str]) -> None:
    file, theirs = self._kept(name, 4)
    got, lines = self._of(file, models.get(name, 10))
    self.assertRegex(
      lines[0], "head: the checkpoint has 4 classes, the network 10"
    )
    self.assertEqual(lines, [f"head: {got.head}"])
    theirs, ours = _flat(theirs), _flat(got.variables)
    differ = {n for n in ours if not np.array_equal(ours[n], theirs[n])}
    self.assertTrue(differ)
    self.assertLessEqual(differ, head)
    self.assertEqual(
      {n.rpartition("/")[0] for n in head},
      {n.rpartition("/")[0] for n in differ},
    )
    got.model.merge(got.variables)  # they fit

  def test_a_head_of_other_classes(self):
    self._check("digits_cnn", {"head/kernel", "head/bias"})

  @pytest.mark.slow
  def test_heads_of_detectors(self):
    heads = ("cls_score", "bbox_pred")
    names = {
      n
      for n in _flat(models.get("tiny_fasterrcnn").init(jax.random.key(0)))
      if any(f"/{h}/" in n for h in heads) and not n.startswith("rpn")
    }
    self._check("tiny_fasterrcnn", names)

  def test_as_many_classes(self):
    file, theirs = self._kept("digits_linear", 10)
    got, lines = self._of(file, models.get("digits_linear"))
    self.assertEqual((got.head, lines), ("", []))
    jax.tree.map(np.testing.assert_array_equal, got.variables, dict(theirs))

  def test_stages_that_are_frozen_at_random_weights(self):
    lines: list[str] = []
    model = models.get("digits_cnn")
    config = tiny_trainings.config(
      model={"name": "digits_cnn", "frozen_stages": 1}
    )
    initial.load_initial(config, model, _TEN, lines.append)
    self.assertEqual(
      lines,
      [
        "the first 1 of its stages are frozen at random weights: give"
        " config.model.checkpoint"
      ],
    )

  def test_another_network(self):
    file, _ = self._kept("digits_linear", 10)
    with self.assertRaisesRegex(errors.UserError, "of another architecture"):
      self._of(file, models.get("digits_cnn"))

  def test_no_checkpoint(self):
    words = "(?s)config.model.checkpoint: not here.*Name a file of weights"
    with self.assertRaisesRegex(missing.MissingError, words):
      self._of("/nowhere.npz", models.get("digits_cnn"))

  @parameterized.parameters(
    (["dark", "bright"], ""), (["a", "b"], "other classes")
  )
  def test_names_of_a_training_s_classes(self, classes, words):
    """As many classes, which a training's workdir calls otherwise."""
    workdir = epath.Path(self.root) / "run"
    prepared = tiny_trainings.prepared()
    run.train(prepared, workdir, say=lambda text: None)
    config = tiny_trainings.config(model__checkpoint=str(workdir))
    made = initial._other_classes(
      config, prepared.model, prepared.model, classes
    )
    self.assertIn(words, made) if words else self.assertEqual(made, "")
