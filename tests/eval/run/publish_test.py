"""The end of a run: table, timing, and what reports are told."""

import pathlib
from unittest import mock

import numpy as np
import pytest
from absl.testing import absltest, parameterized

from eval.cells.cell import Cell
from eval.cells.cell_facts import DataFacts
from eval.report import reports
from eval.run import plan as plan_lib
from eval.run.results import publish
from eval.tasks import base, frames
from robust_tfds import conditions
from tests.eval import tiny_config, tiny_runs


def _plan(baseline="", **data) -> plan_lib.Plan:
  config = tiny_config.get_config()
  with config.unlocked():
    config.baseline = baseline
    config.data.update(data)
  return plan_lib.make(config)


class ContextTest(parameterized.TestCase):
  @parameterized.parameters(
    (22_179, "", 380),
    (100, "", 0),
    (None, "", 380),  # of another program, all of them, and a part
    (None, "100 of 22,179 published examples", 0),
  )
  def test_printed_numbers_stand_beside_runs_of_their_data(
    self, n, part, count
  ):
    dataset = "imagenet_vid_robust"
    facts = DataFacts(
      dataset=dataset, examples=n, subset="", settings={"merge": "max"}
    )
    cell = Cell("m", dataset, conditions.Condition(), data=n and facts)
    scored = base.RunScores([], [cell], {}, {}, {}, part)
    task = frames.Frames(base.Setting(dataset))
    got = publish.context(task, scored, {"m": "resnet50"})
    self.assertLen(got.networks, count)
    self.assertEqual(bool(got.published), bool(count))

  @parameterized.parameters(
    ({}, "corrupted on the fly"),
    ({"source": "prepared"}, "prepared"),
    ({"corruptions": "none"}, "not corrupted"),
  )
  def test_how(self, data, words):
    self.assertEqual(publish.pixel_origin(_plan(**data)), words)


class SeenTest(absltest.TestCase):
  """Pictures of reports are those that the run showed, or made again."""

  def test_no_batch_is_made_twice(self):
    self._check("classification")

  @pytest.mark.slow
  def test_no_batch_of_boxes_is_made_twice(self):
    self._check("detection")

  def _check(self, name: str) -> None:
    workdir = pathlib.Path(self.create_tempdir().full_path, "run")
    tiny_runs.copy(name, workdir, cells=False, config=False)
    config = tiny_runs.config(name)
    with config.unlocked():
      config.reports = True
    told = []
    for made_again in (False, True):  # all cells are of an earlier run then
      with (
        mock.patch.object(reports, "write_all") as write_all,
        mock.patch.object(
          publish, "as_shown", wraps=publish.as_shown
        ) as as_shown,
      ):
        tiny_runs.start(config, workdir)
      self.assertEqual(as_shown.called, made_again)
      told.append(write_all.call_args.args[0])
    first, again = told
    self.assertNotEmpty(first.samples)
    self.assertEqual([*first.samples], [*again.samples])
    for condition, pixels in first.samples.items():
      np.testing.assert_array_equal(pixels, again.samples[condition])
    for title, pictures in first.overlays.items():
      for (image, _), (other, _) in zip(pictures, again.overlays[title]):
        np.testing.assert_array_equal(image, other)
