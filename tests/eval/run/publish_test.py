"""The end of a run: table, timing, and what reports are told."""

import json
import pathlib
import types
from unittest import mock

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds import conditions
from robust_tfds.eval import reports
from robust_tfds.eval.results import table
from robust_tfds.eval.results.cell import Cell
from robust_tfds.eval.results.workdir import Workdir
from robust_tfds.eval.run import plan as plan_lib
from robust_tfds.eval.run import publish
from robust_tfds.eval.run import timing
from robust_tfds.eval.tasks import base
from tests.eval import tiny_config


def _plan(baseline="", **data) -> plan_lib.Plan:
  config = tiny_config.get_config()
  with config.unlocked():
    config.baseline = baseline
    config.data.update(data)
  return plan_lib.make(config)


def _scored() -> base.Scored:
  cells = [
    Cell("m", "digits_c", conditions.PICTURES.parse(name))
    for name in ("clean", "gaussian_noise_1", "gaussian_noise_3")
  ]
  rows = [cell.row("error", 0.5) for cell in cells]
  return base.Scored(rows, cells, {cells[1]: np.array([[1, 2]])})


class PublishTest(absltest.TestCase):
  def test_table_and_timing(self):
    workdir = Workdir(pathlib.Path(self.create_tempdir().full_path))
    stages = timing.Stages()
    stages.add("wall", 2.0)
    sources = [
      types.SimpleNamespace(waited_s=w, decoded=4, decoding_s=1.0)
      for w in (0.5, 0.25)
    ]
    data = types.SimpleNamespace(sources=sources)
    scored = _scored()
    with mock.patch.object(reports, "write_all") as write_all:
      publish.publish(_plan(), workdir, data, stages, scored)
    write_all.assert_not_called()  # config.reports is False
    self.assertEqual(table.read(workdir.table_path), scored.rows)
    took = json.loads(workdir.timing_path.read_text())
    self.assertEqual(took, {"waited_s": 0.75, "wall_s": 2.0, "input_rate": 4.0})


class ContextTest(parameterized.TestCase):
  def test_what_reports_read(self):
    plan, scored = _plan("model:digits_cnn"), _scored()
    got = publish.context(plan.task, scored, class_names=["a"])
    self.assertEqual(got.dataset, "digits_c")
    self.assertIs(got.facts, plan.task.facts)
    self.assertEqual(got.rows, scored.rows)
    self.assertEqual(got.corruptions, ("gaussian_noise",))
    self.assertEqual(list(got.confusions), [("m", "gaussian_noise", 1)])
    self.assertEqual(got.class_names, ["a"])
    self.assertEqual(got.baseline, plan.task.baseline)
    self.assertIn("digits_cnn", got.baseline)

  @parameterized.parameters(
    ({}, "corrupted on the fly"),
    ({"source": "prepared"}, "prepared"),
    ({"corruptions": "none"}, "not corrupted"),
  )
  def test_how(self, data, words):
    self.assertEqual(publish.how(_plan(**data)), words)


if __name__ == "__main__":
  absltest.main()
