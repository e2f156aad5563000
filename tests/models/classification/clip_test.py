"""CLIP beside transformers and OpenAI's names."""

import dataclasses

import jax
import numpy as np
from absl.testing import parameterized

from models.convert import match
from models.spec import Variant
from robust_tfds import models
from tests.models.classification import transformer_files as files
from tests.models.convert import checkpoints, names, torchvision_cpu

_CLASSES = 5
_SMALL = {
  "width": 48,
  "depth": 2,
  "heads": 3,
  "embedding": 24,
  "patch": 16,
  "side": 64,
}
_TOWER = {
  "hidden_size": 48,
  "num_hidden_layers": 2,
  "num_attention_heads": 3,
  "intermediate_size": 192,
}


def _small(name):
  model = models.get(name, num_classes=_CLASSES)
  spec = dataclasses.replace(model.spec, input_px=64)
  variant = Variant(spec, {**model.variant.options, **_SMALL})
  return dataclasses.replace(model, variant=variant, spec=spec)


class ParityTest(parameterized.TestCase):
  @parameterized.parameters(
    ("clip_vit_b_16", "quick_gelu"), ("openclip_vit_b_16", "gelu")
  )
  def test_transformers(self, name, activation):
    vision = {"hidden_act": activation, "image_size": 64, "patch_size": 16}
    reference = files.hf(
      "CLIPModel",
      vision_config={**_TOWER, **vision},
      text_config={
        **_TOWER,
        "vocab_size": 50,
        "bos_token_id": 1,
        "eos_token_id": 2,
      },
      projection_dim=_SMALL["embedding"],
    )
    arrays = files.randomised(reference)
    rng = np.random.default_rng(2)
    text = rng.standard_normal((_CLASSES, _SMALL["embedding"]), np.float32)
    model = _small(name)
    loaded = match.match_arrays(model, {**arrays, "text": text})
    self.assertIn("text_projection.weight", loaded.ignored)
    batch = files.pixels(64)
    want = _by_hand(reference, batch, text, arrays["logit_scale"])
    got = np.asarray(jax.jit(model.apply)(loaded.variables, batch))
    files.assert_parity(self, got, want)


def _by_hand(reference, batch, text, logit_scale):
  """exp(scale) times cosines, of the reference's embeddings of pictures."""
  torch = torchvision_cpu.package("torch")
  pixels = torch.from_numpy(np.ascontiguousarray(batch.transpose(0, 3, 1, 2)))
  with torch.no_grad():
    pooled = reference.vision_model(pixels).pooler_output
    pictures = reference.visual_projection(pooled).numpy()
  pictures /= np.linalg.norm(pictures, axis=1, keepdims=True)
  text = text / np.linalg.norm(text, axis=1, keepdims=True)
  return np.exp(logit_scale) * pictures @ text.T


class NamesTest(checkpoints.Case):
  def test_openai_s_file(self):
    model = _small("clip_vit_b_32")
    flat = checkpoints.drawn(model)
    arrays = _as_openai(checkpoints.as_torch(flat)) | {
      "positional_embedding": np.zeros((77, 512), np.float32),
      "transformer.resblocks.0.ln_1.weight": np.zeros(512, np.float32),
      "token_embedding.weight": np.zeros((9, 512), np.float32),
      "ln_final.bias": np.zeros(512, np.float32),
      "text_projection": np.zeros((512, 512), np.float32),
    }
    self.same(match.match_arrays(model, arrays).variables, flat)
    del arrays["text"]
    with self.assertRaisesRegex(
      ValueError, "1 arrays are not in the file: tex"
    ):
      match.match_arrays(model, arrays)


def _as_openai(arrays):
  """Names and shapes as OpenAI's state dict has them."""
  out = names.arrays(arrays, "openai clip")
  out["visual.class_embedding"] = out["visual.class_embedding"].reshape(-1)
  out["visual.positional_embedding"] = out["visual.positional_embedding"][0]
  out["visual.proj"] = out.pop("visual.proj.weight").T
  return out
