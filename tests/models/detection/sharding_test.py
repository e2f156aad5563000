"""Detections of a batch sharded over devices are those of one device."""

import pathlib
import subprocess
import sys

from absl.testing import absltest

# Devices must be asked for before jax starts.
_SCRIPT = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import numpy as np
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from robust_tfds import models
from tests.models import drawn

model = models.get("tiny_retinanet")
# Small, as trained weights: boxes near the anchors.
variables = jax.tree.map(lambda x: 0.3 * x, drawn.variables(model))
x = np.random.default_rng(0).integers(0, 256, (4, 64, 64, 3), np.uint8)
sizes = np.array([[64, 64], [64, 40], [32, 64], [50, 50]], np.int32)
mesh = jax.make_mesh((2,), ("data",), axis_types=(AxisType.Auto,))
sharded = jax.shard_map(
  model.apply,
  mesh=mesh,
  in_specs=(P(), P("data"), P("data")),
  out_specs=P("data"),
)
one = jax.jit(model.apply)(variables, x, sizes)
two = jax.jit(sharded)(variables, x, sizes)
assert jax.device_count() == 2
for name in one:
  np.testing.assert_allclose(one[name], two[name], atol=1e-4)
print("equal")
"""


class ShardingTest(absltest.TestCase):
  def test_shard_map(self):
    done = subprocess.run(
      [sys.executable, "-c", _SCRIPT],
      capture_output=True,
      text=True,
      cwd=pathlib.Path(__file__).resolve().parents[3],
    )
    self.assertEqual(done.stdout.strip(), "equal", done.stderr[-2000:])


if __name__ == "__main__":
  absltest.main()
