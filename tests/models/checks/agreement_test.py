"""A run takes the traced route where it gives what the host gives."""

from absl.testing import parameterized

from models.adapters import Adapted, OnHost
from models.checks import agreement
from models.spec import Spec
from robust_tfds import errors

_SPEC = Spec(input_px=8, resize_px=8, num_classes=3)


def _host(pixels):
  return pixels.mean((1, 2))


class AgreementTest(parameterized.TestCase):
  def _choose(self, traced):
    host = OnHost("mine", _SPEC, _host, preprocessed=True)
    return agreement.choose(traced, host)

  @parameterized.parameters((1e-7, False), (1e-3, True))
  def test_by_the_distance(self, apart, on_host):
    model = self._choose(
      lambda: Adapted("mine", _SPEC, lambda _, x: _host(x) * (1 + apart))
    )
    self.assertEqual(model.on_host, on_host)
    words = "^host: in JAX .* are 1" if on_host else "^traced: .*e-0[78] of"
    self.assertRegex(model.route, words)

  def test_what_cannot_be_traced(self):
    def traced():
      raise errors.UserError("no such operator.")

    model = self._choose(traced)
    self.assertTrue(model.on_host)
    self.assertEqual(model.route, "host: no such operator.")

  def test_batches(self):
    self.assertEqual(agreement.batch_shape(_SPEC, 2), (2, 8, 8, 3))
    with self.assertRaisesRegex(errors.UserError, "Got a spec of type dict"):
      agreement.batch_shape({}, 2)
