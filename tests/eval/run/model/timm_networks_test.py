"""Networks of timm by name: what they are, and what is refused of them."""

import pathlib
import sys
import types
from unittest import mock

import numpy as np
import pytest
from absl.testing import parameterized
from PIL import Image

from eval.run import spec as spec_lib
from eval.run.model import definitions
from robust_tfds import errors, evaluate, models
from tests.models.convert import torchvision_cpu

_CONFIG = {"hf_hub_id": "timm/net.a_in1k", "num_classes": 1000}
_NAME = "timm:test_vit.r160_in1k"


class TimmNetworksTest(parameterized.TestCase):
  """A folder of two of ImageNet's classes, at the public door."""

  def _evaluate(self, name, **options):
    folder = pathlib.Path(self.create_tempdir().full_path, "fish")
    rng = np.random.default_rng(0)
    for each in ("goldfish", "tench"):
      (folder / each).mkdir(parents=True)
      picture = rng.integers(0, 256, (40, 40, 3), np.uint8)
      Image.fromarray(picture).save(folder / each / "1.png")
    options |= {"conditions": "contrast", "severities": 3}
    return evaluate(name, f"folder:{folder}", **options)

  @parameterized.parameters(
    (None, {}, r"needs timm, .* 'robust_tfds\[convert\]'"),
    ("nut", {}, "Unknown model of timm 'nut'. Did you mean 'net'"),
    (
      "net",
      {"hf_hub_id": None},
      r"weights of timm:net: (.*\n)+.*checkpoint='FILE'",
    ),
    ("net", {"crop_mode": "border"}, "timm:net: pretrained_cfg: crop_mode"),
    ("net", {"input_size": (1, 9, 9)}, "timm:net: pretrained_cfg: input_size"),
  )
  def test_refusals(self, name, facts, words):
    facts = types.SimpleNamespace(**{**_CONFIG, **facts})
    package = types.SimpleNamespace(
      list_models=lambda: ["net"],
      list_pretrained=lambda: ["net.a_in1k"],
      models=types.SimpleNamespace(get_pretrained_cfg=lambda _: facts),
    )
    fake = mock.patch.dict(sys.modules, timm=package if name else None)
    with fake, self.assertRaisesRegex(errors.UserError, words):
      definitions.define(
        {"mine": spec_lib.Model(name=f"timm:{name}")}, {}, "classification"
      )

  def test_without_timm(self):
    with (
      mock.patch.dict(sys.modules, timm=None),
      self.assertRaisesRegex(errors.UserError, "needs timm, .*convert"),
    ):
      self._evaluate(_NAME)

  def test_elsewhere_it_is_a_module(self):
    with self.assertRaisesRegex(errors.UserError, "timm.create_model"):
      models.get("timm:resnet50")

  @pytest.mark.slow
  def test_a_network(self):
    """It runs, is prepared for as timm's config says, and answers as timm's."""
    torch = torchvision_cpu.package()
    timm = torchvision_cpu.package("timm")
    torch.manual_seed(0)
    net = timm.create_model(_NAME.removeprefix("timm:")).eval()
    file = f"{self.create_tempdir().full_path}/net.pth"
    torch.save(net.state_dict(), file)
    summary = self._evaluate(_NAME, checkpoint=file).summary
    self.assertIn("part_mean_error/contrast", summary)
    entry = spec_lib.Model(name=_NAME, checkpoint=file)
    model = definitions.define({"mine": entry}, {}, "classification")[
      "mine"
    ].model
    said = model.spec
    self.assertEqual(said.geometry, "short168_crop160_bicubic")
    self.assertEqual((said.mean, said.std), ((0.5,) * 3, (0.5,) * 3))
    self.assertEqual((said.label_space, said.num_classes), ("imagenet1k", 1000))
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (2, 160, 160, 3), np.uint8)
    pixels = torch.from_numpy((pictures / 127.5 - 1).astype(np.float32))
    with torch.no_grad():
      expected = net(pixels.permute(0, 3, 1, 2)).numpy()
    got = np.asarray(model.apply(model.init(None), pictures))
    np.testing.assert_allclose(got, expected, atol=1e-4 * np.ptp(expected))
