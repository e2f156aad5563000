"""CondenseNet's layers beside what is written out; a checkpoint's numbers."""

import numpy as np
import pytest
from absl.testing import absltest

from models.convert import match
from robust_tfds import models
from tests.models import drawn
from tests.models.classification import by_hand
from tests.models.convert import checkpoints

_SMALL = {"depths": (1, 2), "growths": (4, 8), "groups": 4}


def _dense(layer, x, groups) -> np.ndarray:
  """A layer of the paper's figure 3, after training."""
  first, second = layer["conv_1"], layer["conv_2"]
  y = x[..., np.asarray(first["index"], int)]
  y = by_hand.relu(by_hand.norm(y, first["norm"]))
  y = by_hand.conv(y, first["conv"], groups=groups)
  count = y.shape[-1] // groups
  order = [g * count + i for i in range(count) for g in range(groups)]
  y = by_hand.relu(by_hand.norm(y[..., order], second["norm"]))
  return np.concatenate(
    [x, by_hand.conv(y, second["conv"], 1, 1, groups)], axis=-1
  )


def _written_out(v, x) -> np.ndarray:
  f = v["features"]
  x = by_hand.conv(x, f["init_conv"], 2, 1)
  x = _dense(f["denseblock_1"]["denselayer_1"], x, 4)
  x = x.reshape(len(x), x.shape[1] // 2, 2, x.shape[2] // 2, 2, -1).mean((2, 4))
  for i in (1, 2):
    x = _dense(f["denseblock_2"][f"denselayer_{i}"], x, 4)
  x = by_hand.relu(by_hand.norm(x, f["norm_last"])).mean((1, 2))
  head = v["classifier"]
  return by_hand.linear(x[:, np.asarray(head["index"], int)], head["linear"])


class CondenseNetTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    model = models.get("condensenet74_c4_g4", num_classes=5)
    self.model = drawn.with_options(model, **_SMALL)
    rng = np.random.default_rng(0)
    self.flat = checkpoints.drawn(self.model)
    for path, array in self.flat.items():
      if path[-1] == "index":
        # Of the head half of the features are chosen.
        most = len(array) * (2 if path[0] == "classifier" else 1)
        numbers = rng.permutation(most)[: len(array)]
        self.flat[path] = numbers.astype(np.float32)
      elif path[-1] == "var":
        self.flat[path] = rng.uniform(0.5, 2, array.shape).astype(np.float32)

  @pytest.mark.slow
  def test_authors_file_gives_what_is_written_out(self):
    arrays = {
      f"module.{name}": a.astype(np.int64) if name.endswith("index") else a
      for name, a in checkpoints.as_torch(self.flat).items()
    }
    loaded = match.match_arrays(self.model, arrays)
    self.assertEqual(loaded.style, "condensenet")
    x = np.random.default_rng(1).normal(size=(2, 16, 16, 3)).astype(np.float32)
    want = _written_out(loaded.variables, x)
    got = self.model.apply(loaded.variables, x)
    np.testing.assert_allclose(got, want, atol=1e-5 * np.abs(want).max())

  def test_numbers_of_channels_are_no_weights(self):
    numbers = {p for p in self.flat if p[-1] == "index"}
    self.assertLen(numbers, 4)
    self.assertContainsSubset(numbers, self.model.statistics())
