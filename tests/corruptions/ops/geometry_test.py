"""Affine frames: the identity is the edition's crop, quarter turns numpy's."""

import jax
import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import geometry, layout
from tests import tiny_files

_CIFAR = spec.edition("cifar10")


class MatrixTest(parameterized.TestCase):
  @parameterized.parameters(10.0, 90.0, -35.0)
  def test_a_turn_is_undone_by_its_transpose(self, angle):
    matrix = geometry.affine_matrix(angle)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(2), atol=1e-12)
    a = np.deg2rad(angle)
    np.testing.assert_allclose(matrix[0], [np.cos(a), np.sin(a)], atol=1e-12)

  def test_scale_and_shear(self):
    halved = geometry.affine_matrix(scale=2.0)
    np.testing.assert_allclose(halved, 0.5 * np.eye(2), atol=1e-12)
    sheared = geometry.affine_matrix(shear_deg=20.0)
    s = np.deg2rad(20.0)
    # torchvision 0.2: the inverse of [[1, -sin s], [0, cos s]].
    expected = np.linalg.inv([[1, -np.sin(s)], [0, np.cos(s)]])
    np.testing.assert_allclose(sheared, expected, atol=1e-12)


class FrameTest(absltest.TestCase):
  def test_the_identity_is_the_centre_in_any_canvas(self):
    plugin = geometry.affine_plugin(
      lambda edition, severity: geometry.matrix_table([np.eye(2)]), ()
    )
    table = plugin.tables(_CIFAR, 1)
    row = {name: table[name][0] for name in plugin.rows}
    picture = tiny_files.noise(40, 46)

    @jax.jit
    def frame(canvas):
      key = np.zeros(2, np.uint32)
      scene = plugins.Scene(canvas, layout.Size(40, 46), row, _CIFAR, key)
      return plugin.frame(scene, None)

    for margin in (0, 10):
      canvas = np.pad(picture, ((0, margin), (0, margin), (0, 0)))
      got = frame(canvas)
      expected = picture[4:36, 7:39].reshape(32, -1)
      # torchvision's centre lies half a pixel beyond the middle: with the
      # identity nothing moves.
      np.testing.assert_array_equal(got, expected)

  def test_a_quarter_turn(self):
    """About (w / 2 + 0.5, h / 2 + 0.5): moved by one pixel and black there."""
    picture = tiny_files.noise(32, 32)
    matrix = geometry.matrix_table([geometry.affine_matrix(90.0)])["matrix"][0]
    got = jax.jit(geometry.affine, static_argnums=2)(
      picture, layout.Size(32, 32), _CIFAR, matrix
    )
    got = np.asarray(got).reshape(32, 32, 3).astype(int)
    turned = np.rot90(picture, -1)
    black = (got == 0).all(axis=-1)
    self.assertLessEqual(black.sum(), 64)
    shifts = [
      np.abs(got - np.roll(turned, shift, (0, 1)))[2:-2, 2:-2].max()
      for shift in ((0, 0), (0, 1), (1, 0), (1, 1), (0, -1), (-1, 0))
    ]
    self.assertLessEqual(min(shifts), 1)
