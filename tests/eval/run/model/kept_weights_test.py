"""Weights that a second run need not train, and those that it must."""

import pathlib
from unittest import mock

import jax
import ml_collections
import numpy as np
from absl.testing import parameterized
from etils import epath

from eval.run.execution import run_cache
from eval.run.model import kept_weights, trained
from robust_tfds import kept_programs, models
from tests import in_folder


class KeptWeightsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.model = models.get("digits_linear")
    variables = self.model.init(jax.random.key(0))
    self.variables = jax.tree.map(np.asarray, variables)
    self.kept = pathlib.Path(self.root, "kept")
    self.kept.mkdir()
    chosen = mock.patch.object(kept_programs, "folder", return_value=self.kept)
    self.folder = self.enter_context(chosen)
    never = mock.patch.object(trained, "_train", return_value=self.variables)
    self.train = self.enter_context(never)

  def _run(self, workdir: str, dataset: str = "digits", seed: int = 0) -> None:
    recipe = {"dataset": dataset, "split": "train", "steps": 1, "seed": seed}
    got = kept_weights.load_or_train(
      self.model,
      ml_collections.ConfigDict(recipe),
      epath.Path(self.root) / workdir,
      data_dir="/sets",
    )
    jax.tree.map(np.testing.assert_array_equal, got, self.variables)

  def test_the_second_run_trains_nothing(self):
    self._run("first")
    self._run("second")
    self._run("second")  # goes on with its own
    self.train.assert_called_once()
    self.assertLen(list(self.kept.iterdir()), 1)

  @parameterized.parameters("recipe", "code", "packages", "no folder")
  def test_what_is_trained_anew(self, what):
    self._run("first")
    if what == "code":
      self.enter_context(mock.patch.object(run_cache, "_code", str))
    if what == "packages":
      version = mock.patch.object(run_cache.metadata, "version", str)
      self.enter_context(version)
    if what == "no folder":
      self.folder.return_value = None
    self._run("second", seed=int(what == "recipe"))
    self.assertEqual(self.train.call_count, 2)

  @parameterized.parameters(b"", b"changed")
  def test_damaged_ones_are_removed_and_said(self, data):
    self._run("first")
    (file,) = self.kept.iterdir()
    whole = file.read_bytes()
    file.write_bytes(data)
    with mock.patch.object(kept_weights.progress, "say") as say:
      self._run("second")
    self.assertRegex(say.call_args_list[0].args[0], "removed, .* trained anew")
    self.assertEqual(self.train.call_count, 2)
    self.assertEqual(file.read_bytes(), whole)

  def test_not_of_files_nor_of_several_processes(self):
    self._run("first", dataset="cifar10_c")
    with mock.patch.object(jax, "process_count", return_value=2):
      self._run("second")
    self.assertEmpty(list(self.kept.iterdir()))

  def test_the_oldest_go(self):
    self.enter_context(mock.patch.object(kept_weights, "_MAX_FILES", 2))
    for seed in range(3):
      self._run(f"of_{seed}", seed=seed)
    self.assertLen(list(self.kept.iterdir()), 2)
