"""Segmenters of torch and ONNX: their answers are torch's own."""

import io
import pathlib
import tempfile
import unittest

import numpy as np
from absl.testing import absltest, parameterized

from models import adapters
from models.segmentation.spec import SegmenterSpec
from robust_tfds import errors
from tests import tiny_files

try:
  import torch
except ImportError:
  torch = None

_SIZES = ((24, 40), (31, 23), (24, 40))
_SPEC = SegmenterSpec(num_classes=5, label_space="custom")


def _net(form: str):
  """A small network of stride 4; its answer is a tensor, or a dict."""

  class Net(torch.nn.Module):
    def __init__(self):
      super().__init__()
      torch.manual_seed(0)
      self.first = torch.nn.Conv2d(3, 8, 3, 2, 1)
      self.last = torch.nn.Conv2d(8, 5, 3, 2, 1)

    def forward(self, pixel_values):
      logits = self.last(torch.relu(self.first(pixel_values)))
      if form == "tensor":
        return logits
      return {form: logits, "aux": logits[:, :1]}

  return Net().eval()


def _expected(net, picture: np.ndarray, spec=_SPEC) -> np.ndarray:
  """Of one picture at its own size: torch's bilinear, then the largest."""
  pixels = spec.normalize_on_host(picture[None]).transpose(0, 3, 1, 2)
  with torch.inference_mode():
    logits = net(torch.from_numpy(np.ascontiguousarray(pixels)))
    logits = logits if torch.is_tensor(logits) else next(iter(logits.values()))
    size = picture.shape[:2]
    whole = torch.nn.functional.interpolate(logits, size, mode="bilinear")
  return whole.argmax(1)[0].numpy()


@unittest.skipIf(torch is None, "torch is not installed")
class ExternalTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.canvases = np.zeros((3, 48, 48, 3), np.uint8)
    self.pictures = [tiny_files.noise(*s, i) for i, s in enumerate(_SIZES)]
    for canvas, picture in zip(self.canvases, self.pictures):
      canvas[: picture.shape[0], : picture.shape[1]] = picture

  def _check(self, model, net):
    found = model.apply(None, self.canvases, np.array(_SIZES))["classes"]
    for ids, picture in zip(found, self.pictures):
      high, wide = picture.shape[:2]
      want = _expected(net, picture)
      # A pixel may lie at a tie of two classes.
      self.assertLess((ids[:high, :wide] != want).mean(), 2e-3)

  @parameterized.parameters("tensor", "out", "logits")
  def test_torch(self, form):
    net = _net(form)
    self._check(adapters.get("torch")(net, _SPEC), net)

  def test_onnx(self):
    net, file = _net("tensor"), io.BytesIO()
    shown = torch.zeros(1, 3, 24, 40)
    any_size = {0: "b", 2: "h", 3: "w"}
    torch.onnx.export(
      net,
      (shown,),
      file,
      input_names=["x"],
      output_names=["y"],
      dynamic_axes={"x": any_size, "y": any_size},
      dynamo=False,
    )
    with tempfile.TemporaryDirectory() as folder:
      path = pathlib.Path(folder) / "net.onnx"
      path.write_bytes(file.getvalue())
      self._check(adapters.get("onnx")(path, _SPEC), net)

  def test_refusals(self):
    net = _net("tensor")
    with self.assertRaisesRegex(errors.UserError, "leave out route='traced'"):
      adapters.get("torch")(net, _SPEC, route="traced")
    traced = adapters.get("callable")(lambda v, x: x, _SPEC)
    with self.assertRaisesRegex(errors.UserError, "is run on the host"):
      traced.apply(None, self.canvases, np.array(_SIZES))
    wrong = SegmenterSpec(num_classes=4, label_space="custom")
    with self.assertRaisesRegex(errors.UserError, "expected float logits"):
      adapters.get("torch")(net, wrong).apply(None, self.canvases)

  def test_the_specs_resize_is_done_first(self):
    net = _net("tensor")
    spec = SegmenterSpec(num_classes=5, short_px=12, long_px=99)
    model = adapters.get("torch")(net, spec)
    seen = []
    net.register_forward_pre_hook(lambda _, x: seen.append(x[0].shape[2:]))
    model.apply(None, self.canvases, np.array(_SIZES))
    self.assertCountEqual(map(tuple, seen), [(12, 20), (16, 12)])


if __name__ == "__main__":
  absltest.main()
