"""The end of a run: table, timing, and what reports are told."""

import json
import pathlib
import types
from unittest import mock

import jax
import ml_collections
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from eval import tasks
from eval.cells import table
from eval.cells.cell import Cell
from eval.cells.cell_facts import DataFacts
from eval.cells.workdir import Workdir
from eval.pipeline import inputs
from eval.report import reports
from eval.run import plan as plan_lib
from eval.run.execution import timing
from eval.run.results import publish
from eval.tasks import base, frames
from robust_tfds import conditions, devices
from tests.eval import tiny_config, tiny_runs
from tests.eval.pipeline import stored_examples


def _plan(baseline="", **data) -> plan_lib.Plan:
  config = tiny_config.get_config()
  with config.unlocked():
    config.baseline = baseline
    config.data.update(data)
  return plan_lib.make(config)


def _scored() -> base.RunScores:
  cells = [
    Cell("m", "digits_c", conditions.PICTURES.parse(name))
    for name in ("clean", "gaussian_noise_1", "gaussian_noise_3")
  ]
  rows = [cell.row("error", 0.5) for cell in cells]
  pairs = {cells[1]: np.array([[1, 2]])}
  return base.RunScores(rows, cells, pairs, {}, {})


def _columns(correct: int) -> dict[str, np.ndarray]:
  label = np.zeros(4, np.int32)
  top5 = np.tile(np.arange(5, dtype=np.int32), (4, 1))
  top5[correct:] += 1
  return {
    "example_id": np.array(list("abcd")),
    "group_id": np.array(list("abcd")),
    "frame": np.zeros(4, np.int32),
    "label": label,
    "top5": top5,
    "score": np.ones((4, 5), np.float32),
  }


class OutcomeTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.workdir = Workdir(pathlib.Path(self.create_tempdir().full_path))
    self.plan = _plan()
    self.cells = [Cell(m, "digits_c", c) for m, c in self.plan.cells]
    data = types.SimpleNamespace(decoded={"digits_c/clean/1.0.0": (4, 4)})
    self.outcome = publish.Outcome(self.plan, self.workdir, data, None)

  def test_table_and_timing_of_cells_in_any_order(self):
    stages = timing.Stages()
    stages.add("wall", 2.0)
    for i, cell in enumerate(self.cells[::-1]):
      said = self.outcome.add(cell, _columns(i))
      self.assertEqual(said, f"digits_cnn error {1 - i / 4:.3f}")
    with mock.patch.object(reports, "write_all") as write_all:
      rows = self.outcome.publish(self.cells, stages)
    write_all.assert_not_called()  # config.reports is False
    self.assertEqual(table.read(self.workdir.table_path), rows)
    listed = [r for r in rows if r.metric == "error"]
    self.assertEqual(
      [(r.config, r.value) for r in listed],
      [(c.condition.config, i / 4) for i, c in enumerate(self.cells)],
    )
    took = json.loads(self.workdir.timing_path.read_text())
    want = {"wall_s": 2.0, "reads": {"digits_c/clean/1.0.0": 1.0}}
    self.assertEqual(took, want)

  def test_all_cells_have_to_be_added(self):
    self.outcome.add(self.cells[0], _columns(0))
    with self.assertRaises(KeyError):
      self.outcome.publish(self.cells, timing.Stages())
    self.assertFalse(self.workdir.table_path.exists())


class ContextTest(parameterized.TestCase):
  def test_what_reports_read(self):
    plan, scored = _plan("model:digits_cnn"), _scored()
    got = publish.context(plan.task, scored, {}, class_names=["a"])
    self.assertEqual(got.dataset, "digits_c")
    self.assertIs(got.facts, plan.task.facts)
    self.assertEqual(got.rows, scored.rows)
    self.assertEqual(got.corruptions, ("gaussian_noise",))
    self.assertEqual(list(got.confusions), [("m", "gaussian_noise", 1)])
    self.assertEqual(got.class_names, ["a"])
    self.assertEqual(got.baseline, plan.task.baseline)
    self.assertIn("digits_cnn", got.baseline)

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


class ShowTest(absltest.TestCase):
  def test_on_the_fly_the_pixels_follow_seed_and_id(self):
    source = inputs.Source(
      stored_examples.Builder([stored_examples.example(i, 32) for i in (1, 1)]),
      "test",
      batch_size=2,
    )
    batch = next(source.batches())
    mesh = devices.mesh(jax.local_devices()[:1])
    noise = conditions.Condition("gaussian_noise", 3)

    def shown(seed, **setting):
      setting = base.Setting(
        "digits_c",
        "any",
        "raw",
        seed=seed,
        data=ml_collections.ConfigDict(),
        **setting,
      )
      task = tasks.get("detection")(setting)
      return publish.as_shown(task, noise, batch, mesh)

    self.assertTrue((shown(0) == shown(0)).all())
    self.assertTrue((shown(0) != shown(1)).any())
    np.testing.assert_array_equal(shown(0, fly=False), batch.image)
