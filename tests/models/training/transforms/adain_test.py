"""AdaIN's networks against a written-out torch module; whose files fit."""

import jax
import numpy as np
import pytest
from absl.testing import absltest

from models import training
from models.training.transforms import adain
from robust_tfds import errors, missing

# Positions of convolutions in naoto0804's files, and their widths.
_ENCODER = {0: (3, 3, 1), 2: (3, 64, 3), 5: (64, 64, 3), 9: (64, 128, 3)} | {
  12: (128, 128, 3), 16: (128, 256, 3), 19: (256, 256, 3), 22: (256, 256, 3),
  25: (256, 256, 3), 29: (256, 512, 3), 32: (512, 512, 3),
}  # fmt: skip
_DECODER = {1: (512, 256, 3), 5: (256, 256, 3), 8: (256, 256, 3)} | {
  11: (256, 256, 3), 14: (256, 128, 3), 18: (128, 128, 3), 21: (128, 64, 3),
  25: (64, 64, 3), 28: (64, 3, 3),
}  # fmt: skip


def _arrays(convolutions: dict[int, tuple[int, int, int]], seed: int) -> dict:
  """A file's arrays in torch's layout, of a gain that keeps the scale."""
  rng, out = np.random.default_rng(seed), {}
  for place, (inputs, outputs, side) in convolutions.items():
    scale = np.sqrt(2 / (inputs * side * side))
    kernel = rng.normal(0, scale, (outputs, inputs, side, side))
    out[f"{place}.weight"] = kernel.astype(np.float32)
    out[f"{place}.bias"] = rng.normal(0, 0.1, outputs).astype(np.float32)
  return out


class AdainTest(absltest.TestCase):
  def _files(self, encoder: dict, decoder: dict) -> list[str]:
    folder = self.create_tempdir().full_path
    paths = [f"{folder}/{name}.npz" for name in ("vgg", "decoder")]
    for path, arrays in zip(paths, (encoder, decoder)):
      np.savez(path, **arrays)
    return paths

  def test_features_get_the_styles_moments(self):
    rng = np.random.default_rng(0)
    content = rng.normal(3, 2, (2, 9, 7, 5))
    style = rng.normal(-1, 4, (2, 6, 8, 5))
    got = np.asarray(adain.restyled(np.float32(content), np.float32(style)))
    for axis_of in (np.mean, lambda x, axis: np.std(x, axis, ddof=1)):
      np.testing.assert_allclose(
        axis_of(got, axis=(1, 2)), axis_of(style, axis=(1, 2)), rtol=1e-3
      )

  @pytest.mark.slow
  def test_pictures_in_canvases_are_what_they_are_alone(self):
    """Edges, pools and means know where a picture ends."""
    encoder, decoder = _arrays(_ENCODER, 0), _arrays(_DECODER, 1)
    decoder["28.weight"] *= 0.02  # pixels about grey, few of them clipped
    decoder["28.bias"] += 0.5
    loaded = training.load_stylizer(*self._files(encoder, decoder))
    rng = np.random.default_rng(2)
    images, styles = rng.integers(0, 256, (2, 3, 40, 48, 3), np.uint8)
    options = {"stylizer": loaded, "paired": True}
    keys = rng.integers(0, 2**32, (3, 2), np.uint32)
    sizes = np.array([(40, 48), (33, 30), (9, 47)])
    got = np.asarray(
      training.stylize(images, keys=keys, styles=styles, sizes=sizes, **options)
    )
    for i, (high, wide) in enumerate(sizes):
      part, rows = images[i : i + 1, :high, :wide], slice(i, i + 1)
      alone = training.stylize(
        part, keys=keys[rows], styles=styles[rows], **options
      )
      self.assertGreater(np.std(alone), 4)
      here = got[i].astype(int)
      far = np.abs(here[:high, :wide] - np.asarray(alone)[0])
      self.assertLessEqual(far.max(), 1)  # another order of sums
      here[:high, :wide] = 0
      self.assertEqual(here.max(), 0)

  def test_pictures_that_are_too_small_are_refused(self):
    """Of less than 2 x 2 px at relu4_1: no mirror, no variance."""
    encoder, decoder = _arrays(_ENCODER, 0), _arrays(_DECODER, 1)
    loaded = training.load_stylizer(*self._files(encoder, decoder))
    small, large = (np.zeros((1, n, 40, 3), np.uint8) for n in (8, 40))
    options = {"keys": np.zeros((1, 2), np.uint32), "stylizer": loaded}
    for images, styles, words in (
      (small, large, "take images of 9 px a side or more, got 8x40"),
      (large, small, "take styles of 9 px a side or more, got 8x40"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        training.stylize(images, styles=styles, **options)
    with self.assertRaisesRegex(errors.UserError, "between .9, 9. and the"):
      training.stylize(large, styles=large, sizes=[[8, 40]], **options)

  def test_files_of_the_port_are_read(self):
    encoder, decoder = _arrays(_ENCODER, 0), _arrays(_DECODER, 1)
    loaded = training.load_stylizer(*self._files(encoder, decoder))
    self.assertEqual(loaded.name, "adain")
    kernel = loaded.variables["encoder"]["29"]["kernel"]
    np.testing.assert_array_equal(
      kernel, encoder["29.weight"].transpose(2, 3, 1, 0)
    )
    self.assertNotIn("32", loaded.variables["encoder"])  # above relu4_1

  def test_other_files_are_refused(self):
    encoder, decoder = _arrays(_ENCODER, 0), _arrays(_DECODER, 1)
    with self.assertRaises(errors.UserError):
      training.load_stylizer(*self._files(decoder, encoder))
    del decoder["28.bias"]
    with self.assertRaisesRegex(errors.UserError, "28"):
      training.load_stylizer(*self._files(encoder, decoder))
    with self.assertRaisesRegex(
      missing.MissingError, "(?s)encoder of .*Name files"
    ):
      training.load_stylizer("/nowhere/vgg.pth", "/nowhere/decoder.pth")

  @pytest.mark.slow
  def test_equals_torch(self):
    torch = pytest.importorskip("torch", reason="the extra `convert`")
    encoder, decoder = _arrays(_ENCODER, 0), _arrays(_DECODER, 1)
    loaded = training.load_stylizer(*self._files(encoder, decoder))
    rng = np.random.default_rng(2)
    content = rng.random((1, 37, 50, 3), np.float32)  # sides no multiples of 8
    style = rng.random((1, 64, 45, 3), np.float32)
    render = jax.jit(adain.render, static_argnums=3)
    for alpha in (1.0, 0.6):
      got = render(loaded.variables, content, style, alpha)
      with torch.no_grad():
        expected = _torch(encoder, decoder, content, style, alpha)
      scale = np.abs(expected).max()
      np.testing.assert_allclose(got, expected, atol=1e-5 * scale)


def _torch(encoder, decoder, content, style, alpha) -> np.ndarray:
  """naoto0804/pytorch-AdaIN's arithmetic in torch's functions."""
  import torch
  from torch.nn import functional

  def conv(x, arrays, place, padding=1):
    weight, bias = (
      torch.from_numpy(arrays[f"{place}.{part}"]) for part in ("weight", "bias")
    )
    x = functional.pad(x, (padding,) * 4, mode="reflect")
    return functional.conv2d(x, weight, bias)

  def encode(x):
    x = conv(x, encoder, 0, padding=0)
    for stage in ((2, 5), (9, 12), (16, 19, 22, 25), (29,)):
      if stage != (2, 5):
        x = functional.max_pool2d(x, 2, 2, ceil_mode=True)
      for place in stage:
        x = torch.relu(conv(x, encoder, place))
    return x

  def decode(x):
    for place in sorted(_DECODER):
      x = conv(x, decoder, place)
      if place != 28:
        x = torch.relu(x)
      if place in (1, 14, 21):
        x = functional.interpolate(x, scale_factor=2, mode="nearest")
    return x

  def moments(x):
    flat = x.flatten(2)
    deviation = (flat.var(dim=2) + 1e-5).sqrt()
    return flat.mean(dim=2)[..., None, None], deviation[..., None, None]

  pictures = [
    torch.from_numpy(x.transpose(0, 3, 1, 2)) for x in (content, style)
  ]
  c, s = map(encode, pictures)
  mean, deviation = moments(s)
  own_mean, own_deviation = moments(c)
  t = deviation * (c - own_mean) / own_deviation + mean
  picture = decode(alpha * t + (1 - alpha) * c)
  height, width = content.shape[1:3]
  return picture[..., :height, :width].permute(0, 2, 3, 1).numpy()
