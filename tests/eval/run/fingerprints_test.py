"""What a cell's fingerprint covers, and cells of something else refused."""

import dataclasses
import types
from unittest import mock

from absl.testing import parameterized

from eval.cells import provenance
from eval.pipeline import inputs
from eval.run import plan as plan_lib
from eval.run.execution import fingerprints
from eval.run.model import load as load_lib
from robust_tfds import models
from tests.eval import tiny_config
from tests.eval.pipeline import stored_examples


def _plan(seed=0, batch_size=32, **data) -> plan_lib.Plan:
  config = tiny_config.get_config()
  with config.unlocked():
    config.seed, config.batch_size = seed, batch_size
    config.data.update(data)
  return plan_lib.make(config)


def _loaded(weights="w", dtype="float32", **spec) -> load_lib.LoadedModel:
  changed = dataclasses.replace(models.get("digits_cnn").spec, **spec)
  return load_lib.LoadedModel(None, changed, weights, dtype)


def _cells(plan=None, loaded=None, limit=0, content="abc", chosen=None):
  builder = stored_examples.Builder(
    [stored_examples.example(i) for i in range(3)]
  )
  source = inputs.Source(builder, "test", batch_size=1, limit=limit)
  data = types.SimpleNamespace(source=lambda _: source)
  plan = plan or _plan()
  return fingerprints.cells(
    plan,
    data,
    {"digits_cnn": loaded or _loaded()},
    types.SimpleNamespace(sha256=lambda _: content),
    plan.cells if chosen is None else chosen,
  )


def _marks(*args, **kwargs) -> list[str]:
  return [c.fingerprint for c in _cells(*args, **kwargs)]


class CellsTest(parameterized.TestCase):
  def test_every_cell_by_condition_with_its_own(self):
    cells = _cells()
    configs = [c.condition.config for c in cells]
    self.assertEqual(configs[0], "clean")
    self.assertLen(set(configs), 5)
    self.assertLen({c.fingerprint for c in cells}, 5)

  def test_what_must_not_matter(self):
    self.assertEqual(_marks(_plan(batch_size=8, data_dir="/x")), _marks())

  @parameterized.named_parameters(
    ("seed", lambda: _marks(_plan(seed=1))),
    ("source", lambda: _marks(_plan(source="prepared"))),
    ("codec", lambda: _marks(_plan(codec="jpeg85"))),
    ("weights", lambda: _marks(loaded=_loaded("other"))),
    ("dtype", lambda: _marks(loaded=_loaded(dtype="bfloat16"))),
    ("preprocessing", lambda: _marks(loaded=_loaded(resize_px=64))),
    ("examples", lambda: _marks(limit=2)),
    ("bytes_of_the_prepared_set", lambda: _marks(content="abd")),
  )
  def test_everything_else_does(self, changed):
    for other, mark in zip(changed(), _marks(), strict=True):
      self.assertNotEqual(other, mark)

  @parameterized.parameters("PIXELS_VERSION", "METRICS_VERSION")
  def test_versions_do(self, name):
    marks = _marks()
    with mock.patch.object(provenance, name, 99):
      self.assertTrue(set(marks).isdisjoint(_marks()))

  def test_facts_in_words(self):
    clean, fog = _cells()[0], _cells()[1]
    self.assertEqual(clean.data, fog.data)
    self.assertEqual(
      (clean.data.dataset, clean.data.source), ("digits_c", "fly")
    )
    self.assertEqual((clean.data.px, clean.data.examples), ([32, 32], 3))
    self.assertEqual(
      (clean.model_facts.name, clean.model_facts.adapter), ("digits_cnn", "jax")
    )
    self.assertEqual(clean.model_facts.corruptions_seen, [])
    self.assertStartsWith(clean.model_facts.trained_on, "digits ")
    self.assertEmpty([*clean.data.missing, *clean.model_facts.missing])
