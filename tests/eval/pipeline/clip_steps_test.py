"""The steps on the devices: each alone, rows by themselves, padding apart."""

import jax.numpy as jnp
import numpy as np

from eval.pipeline import clip_steps
from robust_tfds import resizing
from robust_tfds.corruptions import video as perturbations
from tests.eval.pipeline import one_device


class ClipStepsTest(one_device.TestCase):
  def test_gather(self):
    frames = one_device.pixels(2, 5, 4, 6, 3)
    index = np.array([[4, 0, 0], [1, 2, 3]], np.int32)
    got = clip_steps.gather(self.mesh)(frames, index)
    np.testing.assert_array_equal(
      got, np.stack([frames[0, index[0]], frames[1, index[1]]])
    )

  def test_every_frame_has_its_own_draws(self):
    frames = one_device.pixels(2, 3, 32, 32, 3)
    keys = np.array([[1, 2], [3, 4]], np.uint32)
    numbers = np.array([[0, 7, 7], [5, 1, 0]])
    drawn = perturbations.draws(
      "gaussian_noise",
      2,
      edition="paper",
      sizes=np.full((6, 2), 32),
      keys=keys.repeat(3, axis=0),
      numbers=numbers.ravel(),
    )
    step = clip_steps.perturb(self.mesh, "gaussian_noise", ("key",), False)
    got = step(np.int32(2), frames, drawn["key"].reshape(2, 3, 2))
    for i in range(2):
      want = perturbations.perturb_frames(
        frames[i], "gaussian_noise", 2, key=keys[i], first=numbers[i]
      )
      np.testing.assert_array_equal(got[i].reshape(want.shape), want)

  def test_crop(self):
    frames = one_device.pixels(2, 3, 40, 30, 3)
    sizes = [(40, 30), (21, 25)]
    taps = [[resizing.taps(n, 16) for n in size] for size in sizes]
    down, across = (resizing.stack([t[axis] for t in taps]) for axis in (0, 1))
    got = clip_steps.crop(self.mesh)(frames, *down, *across)
    self.assertEqual(got.shape, (2, 3, 16, 48))
    for i, (height, width) in enumerate(sizes):
      for j in range(3):
        want = resizing.resized(frames[i, j, :height, :width], *taps[i])
        np.testing.assert_array_equal(got[i, j].reshape(16, 16, 3), want)

  def test_assemble(self):
    parts = [
      one_device.pixels(1, 2, 4, 4, 3),
      one_device.pixels(1, 2, 4, 4, 3)[:, ::-1],
    ]
    whole = np.concatenate(parts, axis=1)
    order = np.array([[3, 1, 1, 0, 2, 2]], np.int32)
    step = clip_steps.assemble(self.mesh, 2, 3, 4)
    got = step(order, *(jnp.asarray(p.reshape(1, 2, 4, 12)) for p in parts))
    self.assertEqual(got.shape, (1, 2, 3, 4, 4, 3))
    np.testing.assert_array_equal(got.reshape(6, 4, 4, 3), whole[0, order[0]])
