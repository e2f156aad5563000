"""A metric's unit, direction and heading, in words."""

import json
import math
import pathlib

from absl.testing import absltest, parameterized

from eval.metrics.definitions.base import Metric, Topic
from robust_tfds import errors


class MetricTest(absltest.TestCase):
  def test_unit(self):
    for changes, words in (
      ({}, "%, stored as a fraction"),
      ({"percent": False}, "none"),
      ({"percent": False, "unit": "nats"}, "nats"),
    ):
      self.assertEqual(Metric("nll", "NLL", **changes).unit_words, words)

  def test_sense(self):
    for sense, sign, words in (
      ("lower", -1, "lower is better"),
      ("higher", 1, "higher is better"),
      ("neither", 0, "neither is better"),
      ("unknown", 0, "unknown sense"),
    ):
      metric = Metric("nll", "NLL", sense)
      self.assertEqual((metric.sign, metric.sense_words), (sign, words))
      self.assertEqual(metric.higher_is_better, sense == "higher")

  def test_nobody_is_right_by_default(self):
    self.assertEqual(Metric("nll", "NLL").sense, "unknown")

  def test_held_out_counts_no_conditions(self):
    held_out = Metric("mean_error", "Mean error (15)").held_out
    self.assertEqual(held_out.heading, "Mean error (not trained on)")

  def test_full_heading(self):
    self.assertEqual(Metric("p", "P").full_heading, "P")
    self.assertEqual(Metric("p", "P", title="Power").full_heading, "Power")


class TopicTest(parameterized.TestCase):
  def _read(self, fields):
    topic = {"title": "Loss", "words": "", "metrics": {"nll": fields}}
    file = self.create_tempfile("loss.json", json.dumps(topic))
    return Topic.read(pathlib.Path(file.full_path))

  def test_reads(self):
    topic = self._read(
      {
        "heading": "NLL",
        "sense": "lower",
        "bounds": [0, None],
        "percent": False,
      }
    )
    self.assertEqual(
      topic.metrics,
      (Metric("nll", "NLL", "lower", percent=False, bounds=(0, math.inf)),),
    )

  @parameterized.parameters(
    ({"heading": "NLL", "sense": "less"}, "Unknown sense of nll 'less'"),
    (
      {"heading": "NLL", "sense": "lower", "titel": ""},
      "field of nll 'titel'. Did you mean 'title'",
    ),
  )
  def test_refuses(self, fields, message):
    with self.assertRaisesRegex(errors.UserError, message):
      self._read(fields)
