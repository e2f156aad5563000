"""A stored table of costs: its rows, and what follows for others."""

import dataclasses
from unittest import mock

from absl.testing import absltest

from robust_tfds import conditions, models
from robust_tfds.conditions import Condition
from robust_tfds.configs import coco_c, imagenet_c
from robust_tfds.eval.run import costs as costs_lib
from robust_tfds.eval.run import plan as plan_lib
from robust_tfds.eval.run import stored_costs
from tests.eval import tiny_config

_LABEL = "digits_cnn"


def _costs(config) -> costs_lib.Costs:
  plan = plan_lib.make(config)
  return stored_costs.costs(plan, None, plan.cells)


def _of(model: str) -> costs_lib.Costs:
  config = imagenet_c.get_config(model).unlock()
  config.data.corruptions = "fog"
  return _costs(config)


class TableTest(absltest.TestCase):
  def test_every_corruption_has_a_cost_at_small_and_usual_sizes(self):
    for family, sides in (
      (conditions.PICTURES, (32, 224, 640)),
      (conditions.SEQUENCES, (32, 224)),
      (conditions.VIDEOS, (32,)),
    ):
      for px in sides:
        there = {
          row.name
          for row in stored_costs.table()
          if (row.platform, row.kind, row.px) == ("cpu", family.kind, px)
        }
        self.assertContainsSubset(family.names("common"), there)

  def test_networks_are_of_the_catalogue(self):
    for row in stored_costs.table():
      self.assertGreater(row.ms, 0)
      if row.kind == costs_lib.NETWORK:
        self.assertEqual(models.get(row.name).name, row.name)

  def test_rows_are_written_in_the_place_of_the_same(self):
    row = stored_costs.table()[0]
    file = self.create_tempfile()
    with mock.patch.object(stored_costs, "FILE", file):
      other = dataclasses.replace(row, platform="gpu")
      stored_costs.table.cache_clear()
      self.addCleanup(stored_costs.table.cache_clear)
      for _ in range(2):
        stored_costs.write([row, other])
        stored_costs.table.cache_clear()
        self.assertEqual(stored_costs.table(), (row, other))


class CostsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(
      mock.patch.object(stored_costs, "parallel", return_value=1)
    )

  def test_of_a_small_run(self):
    got = _costs(tiny_config.get_config())
    names = {("", ""), ("", "gaussian_noise"), ("", "brightness")}
    self.assertEqual(set(got.corrupt_s), names)
    self.assertEqual(got.corrupt_s["", ""], 0)  # raw pixels
    self.assertEqual(set(got.model_s), {_LABEL})
    self.assertEqual(set(got.compile_s), names | {(_LABEL, "network")})

  def test_other_sizes_follow_by_pixels(self):
    at = {
      px: stored_costs._seconds(
        stored_costs.Row("cpu", "pictures", "fog", 224, 1.0, 0.0), px
      )
      for px in (224, 448)
    }
    self.assertAlmostEqual(at[448], 4 * at[224])

  def test_other_networks_follow_by_their_multiply_adds(self):
    small, large = _of("resnet50"), _of("resnet101")
    times = (
      models.get("resnet101").spec.gflops / models.get("resnet50").spec.gflops
    )
    self.assertAlmostEqual(
      large.model_s["resnet101"] / small.model_s["resnet50"], times
    )

  def test_a_codec_is_a_stage(self):
    lossy = _of("resnet50")
    self.assertGreater(lossy.corrupt_s["", ""], 0)
    self.assertGreater(lossy.corrupt_s["", "fog"], lossy.corrupt_s["", ""])

  def test_canvases_are_each_compiled(self):
    config = coco_c.get_config().unlock()
    config.data.corruptions = "fog"
    (fog,) = [
      row.compile_s
      for row in stored_costs.table()
      if (row.kind, row.name, row.px) == ("pictures", "fog", 640)
    ]
    self.assertAlmostEqual(_costs(config).compile_s["", "fog"], 10 * fog)

  def test_what_a_run_expects(self):
    plan = plan_lib.make(tiny_config.get_config())
    got = stored_costs.expected(plan, None, plan.cells)
    costs = stored_costs.costs(plan, None, plan.cells)
    configs = [c.config for c in plan.conditions]
    self.assertEqual(list(got.first_s), configs)
    self.assertEqual(list(got.image_s), configs)
    self.assertAlmostEqual(
      sum(got.first_s.values()), sum(costs.compile_s.values())
    )
    self.assertEqual(got.first_s["clean"], costs.compile_s[_LABEL, "network"])
    self.assertAlmostEqual(
      got.image_s["brightness_1"] - got.image_s["clean"],
      costs.corrupt_s["", "brightness"],
    )
    with mock.patch.object(stored_costs, "_of_network", return_value=None):
      own = stored_costs.expected(plan, None, plan.cells)
    self.assertEqual(own.image_s, {})
    self.assertGreater(own.first_s["clean"], 0)

  def test_what_the_table_lacks_is_left_out(self):
    plan = plan_lib.make(tiny_config.get_config())
    with mock.patch.object(stored_costs, "platform", return_value=""):
      got = stored_costs.costs(plan, None, plan.cells)
      unknown = stored_costs._stages(plan, Condition("fog", 1), 32)
    self.assertEqual((got.model_s, got.decode_s), ({}, None))
    self.assertEqual(set(got.corrupt_s), {("", "")})
    self.assertEqual(unknown, [None])
