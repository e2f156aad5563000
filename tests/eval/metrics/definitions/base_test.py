"""A metric's unit, direction and heading, in words."""

import json
import math
import pathlib

from absl.testing import parameterized

from eval.metrics.definitions.base import Metric, Topic
from robust_tfds import errors


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
