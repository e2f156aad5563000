"""P, mPC, rPC, and the distance of corrupted from clean images."""

import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized

from eval.metrics import detection
from eval.metrics.detection import benchmark
from tests.eval.metrics import own_row


def _cells():
  rng = np.random.default_rng(0)
  return {n: rng.uniform(0, 0.5, 5).tolist() for n in benchmark.names("all")}


class SummarizeTest(parameterized.TestCase):
  @parameterized.parameters(*benchmark.scopes())
  def test_definitions(self, scope):
    cells = _cells()
    shuffled = dict(reversed(cells.items()))
    got = detection.summarize(shuffled, 0.6, scope)
    names = benchmark.names(scope)
    mpc = np.mean([cells[n] for n in names])
    self.assertAlmostEqual(got["mpc"], mpc, delta=1e-12)
    self.assertAlmostEqual(got["rpc"], mpc / 0.6, delta=1e-12)
    self.assertEqual(got["p"], 0.6)
    self.assertEqual(list(got["per_corruption"]), list(names))

  def test_sizes(self):
    sizes = {k: len(benchmark.names(k)) for k in benchmark.scopes()}
    self.assertEqual(sizes["benchmark"], 15)
    self.assertEqual(sizes["all"], 19)
    self.assertEqual(sizes["validation"], 4)

  def test_arrays_of_jax(self):
    cells = {n: jnp.full(5, 0.25) for n in benchmark.names("benchmark")}
    cells["fog"] = [jnp.asarray(0.25)] * 5
    got = detection.summarize(cells, jnp.asarray(0.5))
    self.assertEqual((got["p"], got["mpc"], got["rpc"]), (0.5, 0.25, 0.5))

  def test_refusals(self):
    cells = _cells()
    del cells["fog"]
    with self.assertRaisesRegex(ValueError, "needs fog"):
      detection.summarize(cells, 0.5)
    detection.summarize(cells, 0.5, "validation")
    for value, message in (
      ([0.1] * 4, "got 4"),
      ([0.1, 0.2, None, 0.1, 0.1], "fog, severity 3"),
      ([0.1, 0.2, np.nan, 0.1, 0.1], "fog, severity 3"),
      ([0.1, 0.2, -1, 0.1, 0.1], "fog, severity 3"),
      ([10, 20, 30, 40, 50], "percent"),
      (["0.1"] * 5, "fog, severity 1: the cell holds '0.1'"),
      ([[[1], [1, 2]]] * 5, "fog, severity 1: the cell holds"),
      ([True] * 5, "fog, severity 1: the cell holds True"),
      (0.1, "fog: performance at severities 1-5 expected, got 0.1"),
      (None, "fog: performance at severities 1-5 expected, got None"),
      (np.zeros((5, 1)), "fog, severity 1: the cell holds array"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        detection.summarize({**cells, "fog": value}, 0.5)
    cells = _cells()
    for arguments, message in (
      (({**cells, "fogg": [0.1] * 5}, 0.5), "Did you mean 'fog'"),
      *(
        ((cells, clean), "clean: the cell holds")
        for clean in (None, "0.5", np.zeros(5), 50, np.nan)
      ),
      (([], 0.5), "cells: a dict .* got list"),
      ((cells, 0.5, None), "Unknown scope None"),
      ((cells, 0.5, "benchmrk"), "Did you mean 'benchmark'"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        detection.summarize(*arguments)

  def test_a_model_that_sees_nothing_has_no_rpc(self):
    got = detection.summarize(
      {n: [0.0] * 5 for n in benchmark.names("all")}, 0.0
    )
    self.assertEqual(got["mpc"], 0.0)
    self.assertTrue(np.isnan(got["rpc"]))


class OwnConditionTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    own_row.add(self)

  def test_it_enters_no_published_mean(self):
    flat = {n: [0.25] * 5 for n in benchmark.names("all")}
    for scope in benchmark.scopes():
      self.assertNotIn("invert", benchmark.names(scope))
      after = detection.summarize({**flat, "invert": [0.0] * 5}, 0.5, scope)
      self.assertEqual(after, detection.summarize(flat, 0.5, scope))
