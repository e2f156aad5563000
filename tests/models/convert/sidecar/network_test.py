"""Files whose arrays fit a network that they are not of."""

import pytest
from absl.testing import absltest, parameterized

from models import catalogue
from models.convert import known
from models.convert.sidecar import network


def _clip(**vision):
  config = {"model_type": "clip", "vision_config": vision}
  return network.config_facts(config)


class DiffersTest(parameterized.TestCase):
  @parameterized.parameters(
    ("resnet50", {"architecture": "resnetaa50"}, "architecture resnetaa50"),
    (
      "swin_v2_t",
      {"architecture": "swinv2_tiny_window16_256"},
      "architecture swinv2_tiny_window16_256",
    ),
    ("clip_vit_b_32", _clip(hidden_act="gelu"), "hidden_act gelu"),
    ("openclip_vit_b_32", _clip(), "hidden_act quick_gelu"),
    (
      "vit_small_patch16_224",
      {"model_type": "vit", "num_attention_heads": 8, "hidden_act": "gelu"},
      "num_attention_heads 8",
    ),
    (
      "resnet50",
      {"model_type": "resnet", "downsample_in_bottleneck": True},
      "downsample_in_bottleneck True",
    ),
    ("cafferesnet101", {"models": ("resnet101",)}, "the network of resnet101"),
  )
  def test_another_network(self, name, facts, words):
    self.assertEqual(network.differs(catalogue.network(name), facts), words)

  @parameterized.parameters(
    ("resnet50", {"architecture": "resnet50"}),
    ("vit_b_16", {"architecture": "vit_base_patch16_384"}),  # interpolated
    ("vit_base_patch16_224", {"architecture": "deit_base_patch16_224"}),
    ("clip_vit_b_32", _clip()),
    ("openclip_vit_b_32", _clip(hidden_act="gelu")),
    ("resnet50", {"model_type": "resnet", "hidden_act": "relu"}),
    ("resnet50", {}),
  )
  def test_the_same_network(self, name, facts):
    self.assertEqual(network.differs(catalogue.network(name), facts), "")

  @pytest.mark.slow
  def test_known_checkpoints_are_of_their_models(self):
    rows = [r for r in known.every() if r.name.startswith("timm:")]
    self.assertNotEmpty(rows)
    for row in rows:
      for name in row.models:
        model = catalogue.network(name)
        self.assertEqual(
          network.differs(model, network.timm_facts(row.name)), ""
        )


class ReadTest(absltest.TestCase):
  def test_names_and_configs(self):
    said = {"architecture": "resnet50"}
    self.assertEqual(network.timm_facts("timm:resnet50.a1_in1k"), said)
    self.assertEqual(network.timm_facts("hf:timm/resnet50.a1_in1k"), {})
    self.assertEqual(network.config_facts({**said, "pretrained_cfg": {}}), said)
    self.assertEqual(network.config_facts({"architectures": ["x"]}), {})
