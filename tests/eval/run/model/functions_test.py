"""Plain functions as models: their classes, their size, what is refused."""

import types

import numpy as np
from absl.testing import parameterized

from eval.run.model import functions
from robust_tfds import errors


def _three(images):
  return np.zeros((len(images), 3))


class FunctionsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("classification", (5,), {}, 5),
    ("classification", (5, 3), {"is_asked": True}, 3),
    ("classification", (5,), {"classes": ["a", "b", "c"]}, 3),
    ("video", (5,), {"is_asked": True}, 5),
    ("video", (5,), {"classes": [["a", [0, 6]], ["b", [1]]]}, 7),
    ("detection", (5,), {"classes": ["a", "b"]}, 2),
  )
  def test_classes(self, kind, counts, options, expected):
    options = {"is_asked": False, **options}
    model = functions.model(_three, kind, counts, **options)
    self.assertEqual((model.kind, model.name), (kind, "_three"))
    self.assertEqual(model.spec.num_classes, expected)

  def test_the_size(self):
    model = functions.model(
      _three, "classification", (3,), is_asked=True, side_px=32, label="mine"
    )
    self.assertEqual((model.spec.input_px, model.spec.resize_px), (32, 37))
    self.assertEqual(model.name, "mine")

  @parameterized.parameters(
    ("torch.nn.modules.module", "classification", r"\('torch'\)\(net, models.Spec\("),
    ("keras.src.models.model", "video", r"\('keras'\)\(net, models.VideoSpec\("),
    ("flax.nnx.module", "detection", r"\('flax_module'\)\(net, models.DetectorSpec\("),
    ("onnxruntime.capi.x", "classification", r"\('onnx'\)\('model.onnx', models.Spec\("),
  )  # fmt: skip
  def test_networks_of_frameworks_are_told_their_adapter(self, of, kind, line):
    base = types.new_class("Module", (), {}, lambda d: d.update(__module__=of))
    net = type("Mine", (base,), {"__call__": lambda self, x: _three(x)})()
    with self.assertRaisesRegex(errors.UserError, line) as said:
      functions.model(net, kind, (3,), is_asked=True)
    self.assertNotIn("eval()", str(said.exception))
    net.training = True
    with self.assertRaisesRegex(errors.UserError, f"before you.*{line}|=False"):
      functions.model(net, kind, (3,), is_asked=True)

  @parameterized.parameters(
    (_three, r"_three answered with shape \(2, 3\), .* with 4 or 5 classes"),
    (lambda images: 1 / 0, r"lambda fails on uint8 \[2, 224, 224, 3\]: Zero"),
  )
  def test_refusals(self, function, message):
    with self.assertRaisesRegex(errors.UserError, message):
      functions.model(function, "classification", (4, 5), is_asked=True)
