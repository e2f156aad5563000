"""A CLIP model in little under a catalogue's name, and a file of its towers."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator
from unittest import mock

import numpy as np
from safetensors import numpy as safetensors

from models import variables as variables_lib
from models.classification import clip
from models.convert import match
from models.spec import Variant
from models.zero_shot import tower
from robust_tfds import models
from tests.models import drawn
from tests.models.convert import names

SIDE, EMBEDDING = 32, 24
MERGES = ["#version: 0.2", "s t", "o p</w>", "st op</w>", "a </w>"]
IDS = 512 + len(MERGES) - 1 + 2
VISION = {"width": 48, "depth": 2, "heads": 3, "patch": 16, "side": SIDE}
TEXT = (32, 2, 2)


@contextlib.contextmanager
def towers(name: str = "clip_vit_b_32") -> Iterator[None]:
  """Make the catalogue's model of that name a little one."""
  of = clip.VARIANTS[name]
  spec = dataclasses.replace(of.spec, input_px=SIDE, resize_px=SIDE)
  options = {**of.options, **VISION, "embedding": EMBEDDING}
  with (
    mock.patch.dict(clip.VARIANTS, {name: Variant(spec, options)}),
    mock.patch.dict(tower.SIZES, {EMBEDDING: TEXT}),
  ):
    yield


def arrays(name: str = "clip_vit_b_32") -> dict[str, np.ndarray]:
  """Both towers with random weights, under OpenAI's names."""
  vision = _torch(models.get(name), ("text",))
  out = names.arrays(vision, "openai clip")
  out["visual.proj"] = out.pop("visual.proj.weight").T
  model = tower.model(name, IDS)
  out |= names.arrays(_torch(model, ()), "openai text")
  out["text_projection"] = out["text_projection"].T
  return out


def _torch(model, but):
  flat = variables_lib.flatten(drawn.variables(model))
  return {
    match.torch_name(p): np.moveaxis(a, (-1, -2), (0, 1))
    if p[-1] == "kernel"
    else a
    for p, a in flat.items()
    if p[-1] not in but
  }


def checkpoint(folder: str) -> str:
  """Write such a file with a vocabulary beside it; return its path."""
  place = pathlib.Path(folder)
  whole = {k: np.ascontiguousarray(a) for k, a in arrays().items()}
  safetensors.save_file(whole, place / "clip.safetensors")
  (place / "merges.txt").write_text("\n".join(MERGES) + "\n")
  return str(place / "clip.safetensors")
