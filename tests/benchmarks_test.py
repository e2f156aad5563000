"""Benchmarks run as their pages say, on one CPU; docs/evidence/COSTS.md is calculated."""

import dataclasses
import json
import os
import pathlib

import pytest
from absl.testing import absltest

from benchmarks import scale
from robust_tfds import conditions
from tests import in_process
from tools import import_graph


class CommandsTest(absltest.TestCase):
  def _run(self, module, *arguments):
    """What a benchmark prints, and what it writes."""
    out = pathlib.Path(self.create_tempdir().full_path, "numbers.json")
    run = in_process.program(
      f"benchmarks.{module}",
      *arguments,
      f"--out={out}",
      cwd=import_graph.ROOT,
      env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""},
    )
    self.assertEqual(run.returncode, 0, run.stderr)
    return run.stdout, json.loads(out.read_text())

  @pytest.mark.slow
  def test_device(self):
    text, numbers = self._run(
      "device", "--small", "--model=resnet18", "--batch_size=2", "--repeats=1",
      "--names=brightness,contrast",
    )  # fmt: skip
    for word in ("model", "corruption", "jpeg85", "both", "input", "contrast"):
      self.assertRegex(text, rf"(?m)^{word} +[\d,]+ +[\d.]+$")
    self.assertEqual(numbers["amount"]["severities"], [3])
    self.assertCountEqual(
      numbers["corruptions_s_an_image"], ["brightness", "contrast"]
    )
    for name in ("model", "corruption", "jpeg85", "both", "input", "put"):
      self.assertGreater(numbers[f"{name}_s_an_image"], 0)
    self.assertGreater(numbers["both_s_an_image"], numbers["jpeg85_s_an_image"])
    self.assertLess(numbers["idle_share"], 1)

  @pytest.mark.slow
  def test_pipeline(self):
    text, numbers = self._run(
      "pipeline", "--count=12", "--batch_size=8", "--names=brightness"
    )
    for stage in (
      "read",
      "read and decode",
      "put",
      "corrupt",
      "model",
      "fetch",
    ):
      self.assertRegex(text, rf"(?m)^{stage} +[\d.]+ +[\d.]+$")
      self.assertGreater(numbers["ms"][stage]["wall"], 0)
    self.assertEqual(list(numbers["timing"]["reads"].values()), [1])
    self.assertGreater(numbers["peak_mib"], 100)

  @pytest.mark.slow
  def test_own_data(self):
    few = ("--count=8", "--peer_count=1", "--conditions=brightness")
    text, numbers = self._run("own_data", *few)
    self.assertRegex(text, r"(?m)^8 pictures, 6 conditions")
    self.assertRegex(text, r"(?m)^1,000 pictures, a condition +-?[\d.]+$")
    self.assertIn("starting and compiling, once", numbers)


class ScaleTest(absltest.TestCase):
  def test_the_page_is_up_to_date(self):
    text = scale.PAGE.read_text(encoding="utf-8")
    self.assertEqual(
      scale.page(text), text, "run `python -m benchmarks.scale --write`"
    )

  def test_a_page_without_a_table_is_refused(self):
    with self.assertRaisesRegex(ValueError, "0 lines"):
      scale.page("")

  def test_conditions_are_those_of_the_benchmarks(self):
    pictures = conditions.PICTURES.select("all", conditions.SEVERITIES)
    sequences = conditions.SEQUENCES.select("common", (1,))
    videos = conditions.VIDEOS.select("all", conditions.SEVERITIES)
    listed = (pictures, sequences, pictures, videos)
    self.assertEqual(
      [work.conditions for work in scale.WORKS], [*map(len, listed)]
    )

  def test_a_slower_stage_takes_longer(self):
    work, machine = scale.WORKS[0], scale.MACHINES[1]
    took = scale.times(work, machine)
    self.assertEqual(took.total, max(took.stages.values()))
    slow = dataclasses.replace(machine, flop_s=machine.flop_s / 10)
    self.assertGreater(scale.times(work, slow).total, 5 * took.total)
    on_cores = scale.times(work, scale.MACHINES[0])
    self.assertEqual(on_cores.total, sum(on_cores.stages.values()))
