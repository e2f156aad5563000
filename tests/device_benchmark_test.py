"""The benchmark of accelerators runs as its page says, on one CPU."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from absl.testing import absltest

from tools import import_graph

_COMMAND = (
  "-m", "benchmarks.device", "--small", "--model=resnet18", "--batch_size=2",
  "--repeats=1", "--names=brightness,contrast",
)  # fmt: skip


class DeviceBenchmarkTest(absltest.TestCase):
  @pytest.mark.slow
  def test_small(self):
    out = pathlib.Path(self.create_tempdir().full_path, "numbers.json")
    run = subprocess.run(
      [sys.executable, *_COMMAND, f"--out={out}"],
      cwd=import_graph.ROOT,
      env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""},
      capture_output=True,
      text=True,
    )
    self.assertEqual(run.returncode, 0, run.stderr)
    for word in ("model", "corruption", "jpeg85", "both", "input", "contrast"):
      self.assertRegex(run.stdout, rf"(?m)^{word} +[\d,]+ +[\d.]+$")
    numbers = json.loads(out.read_text())
    self.assertEqual(numbers["amount"]["severities"], [3])
    self.assertCountEqual(
      numbers["corruptions_s_an_image"], ["brightness", "contrast"]
    )
    for name in ("model", "corruption", "jpeg85", "both", "input", "put"):
      self.assertGreater(numbers[f"{name}_s_an_image"], 0)
    self.assertGreater(numbers["both_s_an_image"], numbers["jpeg85_s_an_image"])
    self.assertLess(numbers["idle_share"], 1)


if __name__ == "__main__":
  absltest.main()
