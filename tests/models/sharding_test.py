"""Answers of a batch that is sharded over devices are those of one device."""

import pytest
from absl.testing import absltest

from tests import in_process

# Devices must be asked for before jax starts.
_START = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from tests.models import drawn, with_norms

rng = np.random.default_rng(0)


def mesh_of(count):
  devices = jax.devices()[:count]
  auto = (AxisType.Auto,)
  return jax.make_mesh((count,), ("data",), axis_types=auto, devices=devices)


"""
_ANSWERS = """
from robust_tfds import models
from models.detection import ps_roi_pool
from models.layers import deformable

clips = rng.integers(0, 256, (4, 8, 32, 32, 3), np.uint8)
pictures = rng.integers(0, 256, (4, 64, 64, 3), np.uint8)
sizes = np.array([[64, 64], [64, 40], [32, 64], [50, 50]], np.int32)
mesh = mesh_of(4)
for name, factor, atol, *batch in (
  ("tiny_r3d", 1, 1e-5, clips),
  # Small, as trained weights: boxes near the anchors.
  ("tiny_retinanet", 0.3, 1e-4, pictures, sizes),
):
  model = models.get(name)
  variables = jax.tree.map(lambda x: factor * x, drawn.variables(model))
  sharded = jax.shard_map(
    model.apply,
    mesh=mesh,
    in_specs=(P(), *(P("data") for _ in batch)),
    out_specs=P("data"),
  )
  one = jax.jit(model.apply)(variables, *batch)
  four = jax.jit(sharded)(variables, *batch)
  for got, want in zip(*map(jax.tree.leaves, (four, one)), strict=True):
    assert len(got.sharding.device_set) == 4
    np.testing.assert_allclose(got, want, atol=atol)

# Detectors' operators: a scan over taps, a loop over boxes.
draw = np.random.default_rng(0).standard_normal
maps, kernel = draw((4, 8, 9, 8), np.float32), draw((3, 3, 8, 6), np.float32)
moves = draw((4, 8, 9, 18), np.float32)
boxes = np.tile(np.array([[3.0, 5, 60, 80], [0, 0, 90, 70]], np.float32), (4, 1, 1))


def convolved(x, moves):
  return deformable.convolve(
    x, jax.numpy.asarray(kernel), moves, strides=(1, 1), padding=(1, 1)
  )


def pooled(x, boxes):
  return ps_roi_pool.pool(x, boxes, 2, stride=16)


for function, *batch in ((convolved, maps, moves), (pooled, maps, boxes)):
  sharded = jax.shard_map(
    function, mesh=mesh, in_specs=(P("data"),) * 2, out_specs=P("data")
  )
  got, want = jax.jit(sharded)(*batch), jax.jit(function)(*batch)
  assert len(got.sharding.device_set) == 4
  np.testing.assert_allclose(got, want, atol=1e-5)
print("equal")
"""


# Statistics are those of the whole batch; draws know no sharding.
_TRAINING = """
def check(model, variables, batch, atol):
  trained = []
  for count in (1, 2, 8):
    mesh = mesh_of(count)
    rows = jax.device_put(batch, NamedSharding(mesh, P("data")))
    state = jax.device_put(variables, NamedSharding(mesh, P()))
    step = jax.jit(lambda *x: model.apply_train(*x, frozen_norms=False))
    answers = step(state, rows, jax.random.key(0))
    assert len(jax.tree.leaves(rows)[0].sharding.device_set) == count
    trained.append(jax.tree.leaves_with_path(jax.device_get(answers)))
  for leaves in trained[1:]:
    for (path, got), (_, want) in zip(leaves, trained[0], strict=True):
      far = np.abs(got - want).max() / max(np.abs(want).max(), 1e-9)
      assert far <= atol, (model.name, path, far)
  moved = dict(trained[0])
  for path in model.statistics():
    given = variables
    for part in path:
      given = given[part]
    key = (jax.tree_util.SequenceKey(1), *map(jax.tree_util.DictKey, path))
    assert not np.allclose(moved[key], given), path


"""
_OF_PICTURES = """
model = with_norms.model(0.5)
pictures = rng.integers(0, 256, (16, 32, 32, 3), np.uint8)
check(model, drawn.variables(model), pictures, 1e-6)
print("equal")
"""
_OF_THE_REST = """
from robust_tfds import models
clips = models.get("tiny_r3d")
videos = rng.integers(0, 256, (8, 8, 32, 32, 3), np.uint8)
check(clips, drawn.variables(clips), videos, 1e-5)
boxes = models.get("tiny_fasterrcnn")
scenes = {
  "image": rng.integers(0, 256, (8, 64, 64, 3), np.uint8),
  "size": np.full((8, 2), 64, np.int32),
  "boxes": drawn.boxes(rng, 24, 60).reshape(8, 3, 4),
  "labels": rng.integers(-1, 10, (8, 3)).astype(np.int32),
}
small = jax.tree.map(lambda x: 0.3 * x, drawn.variables(boxes))
check(boxes, small, scenes, 1e-4)
print("equal")
"""


class ShardingTest(absltest.TestCase):
  @pytest.mark.slow
  def test_four_devices_answer_as_one(self):
    self._run(_ANSWERS)

  def test_eight_devices_train_as_one(self):
    self._run(_TRAINING + _OF_PICTURES)

  @pytest.mark.slow
  def test_videos_and_detectors_train_on_eight_devices_as_on_one(self):
    self._run(_TRAINING + _OF_THE_REST)

  def _run(self, script):
    done = in_process.python("-c", _START + script)
    self.assertEqual(done.stdout.strip(), "equal", done.stderr[-2000:])
