"""Reference modules in torch with all weights and statistics random."""

import dataclasses
import zlib
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import numpy as np
from absl.testing import absltest

from tests.models.convert import torchvision_cpu


@dataclasses.dataclass(frozen=True)
class Oracle:
  """A reference of one network.

  Attributes:
    build: makes the torch module; imports what it needs.
    clip: T and side in pixels of the clips to compare on.
    pack: `[B, 3, T, H, W]` -> the module's input.
    unpack: the module's output -> logits.
    options: of our network in place of the published ones, to fit small clips.
  """

  build: Callable[[], Any]
  clip: tuple[int, int]
  pack: Callable[[Any], Any] = lambda x: x
  unpack: Callable[[Any], Any] = lambda y: y
  options: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def built(oracle: Oracle) -> Any:
  """The module in evaluation mode; skips where its package is missing."""
  library = torchvision_cpu.package()
  library.manual_seed(0)
  try:
    return oracle.build().eval()
  except ImportError as error:
    raise absltest.unittest.SkipTest(f"Not installed: {error}") from error


def logits(oracle: Oracle, module: Any, clips: np.ndarray) -> np.ndarray:
  """The module's answer to preprocessed `[B, T, H, W, 3]`."""
  library = torchvision_cpu.package()
  channels_first = np.ascontiguousarray(clips.transpose(0, 4, 1, 2, 3))
  with library.no_grad():
    return oracle.unpack(
      module(oracle.pack(library.from_numpy(channels_first)))
    ).numpy()


def randomise(
  oracle: Oracle, module: Any, name: str, clips: np.ndarray
) -> None:
  """Random weights; statistics near those of the clips, then disturbed.

  Zero-initialised heads and gains would make a comparison vacuous, and with
  arbitrary statistics all clips would give the same logits.
  """
  library = torchvision_cpu.package()
  generator = library.Generator().manual_seed(zlib.crc32(name.encode()))

  def draw(shape):
    return library.randn(shape, generator=generator)

  for key, value in module.state_dict().items():
    if "running_" in key or not value.is_floating_point():
      continue
    if value.ndim <= 1:
      gain = 0.8 if key.endswith("weight") else 0.0
      value.copy_(0.1 * draw(value.shape) + gain)
    elif "pos_" in key or "token" in key or "embeddings" in key.split(".")[-1]:
      value.copy_(0.3 * draw(value.shape))
    else:
      size = max(value[0].numel(), 1)
      value.copy_(draw(value.shape) * (2 / size) ** 0.5)
  norms = [m for m in module.modules() if hasattr(m, "running_var")]
  if not norms:
    return
  for norm in norms:
    norm.momentum = 1.0
  logits(oracle, module.train(), clips)
  module.eval()
  for norm in norms:
    # Quiet channels must not be blown up: rounding would grow with depth.
    spread = norm.running_var + norm.running_var.mean()
    norm.running_mean.add_(0.05 * draw(spread.shape) * spread.sqrt())
    norm.running_var.copy_(spread)
    norm.weight.data.mul_(2**0.5)


def _torchvision(name: str) -> Callable[[], Any]:
  def build():
    import torchvision.models.video as library

    return getattr(library, name)(weights=None)

  return build


def _pytorchvideo(name: str, **options: Any) -> Callable[[], Any]:
  """Hub constructors without their weights and without the last softmax."""

  def build():
    import pytorchvideo.models.hub as library

    return getattr(library, name)(pretrained=False, **options)

  return build


def _slow() -> Any:
  module = _pytorchvideo("slow_r50")()
  module.blocks[5].pool.kernel_size = (4, 2, 2)
  return module


def _x3d(frames: int, side: int) -> Callable[[], Any]:
  def build():
    from pytorchvideo.models import x3d as library

    return library.create_x3d(
      input_clip_length=frames, input_crop_size=side, head_activation=None
    )

  return build


def _small_mvit(name: str) -> Callable[[], Any]:
  """torchvision's builder, which fixes the clips' size, for small clips."""

  def build():
    from torchvision.models.video import mvit as library

    made = library._mvit
    small = {"spatial_size": (64, 64), "temporal_size": 4}
    with mock.patch.object(
      library, "_mvit", lambda **options: made(**{**options, **small})
    ):
      return getattr(library, name)(weights=None)

  return build


def _s3d() -> Any:
  """For clips that end as a grid of 2 x 2 x 2, which the head's window is."""
  module = _torchvision("s3d")()
  module.avgpool.kernel_size = (2, 2, 2)
  return module


def _videomae() -> Any:
  from transformers.models import videomae as library

  config = library.configuration_videomae.VideoMAEConfig(
    image_size=64,
    num_frames=4,
    num_labels=400,
    layer_norm_eps=1e-6,
  )
  module = library.modeling_videomae.VideoMAEForVideoClassification(config)
  module.fc_norm.eps = 1e-6
  return module


def _timesformer() -> Any:
  from transformers.models import timesformer as library

  config = library.configuration_timesformer.TimesformerConfig(
    image_size=64, num_frames=4, num_labels=400, layer_norm_eps=1e-6
  )
  return library.modeling_timesformer.TimesformerForVideoClassification(config)


def _pathways(x: Any) -> list:
  """What SlowFast's reference takes: slow frames (PySlowFast's), all frames."""
  count = x.shape[2]
  index = torchvision_cpu.package().linspace(0, count - 1, count // 4).long()
  return [x.index_select(2, index), x]


ORACLES = {
  "r3d_18": Oracle(_torchvision("r3d_18"), (5, 32)),
  "mc3_18": Oracle(_torchvision("mc3_18"), (4, 32)),
  "r2plus1d_18": Oracle(_torchvision("r2plus1d_18"), (4, 40)),
  # Clips of 64 pixels end as grids of 2 x 2: the heads' windows follow.
  "slow_r50": Oracle(_slow, (4, 64)),
  "i3d_r50": Oracle(
    _pytorchvideo("i3d_r50", head_pool_kernel_size=(2, 2, 2)), (4, 64)
  ),
  "r2plus1d_r50": Oracle(
    _pytorchvideo(
      "r2plus1d_r50", head_pool_kernel_size=(2, 2, 2), head_activation=None
    ),
    (8, 64),
  ),
  "slowfast_r50": Oracle(
    _pytorchvideo(
      "slowfast_r50", head_pool_kernel_sizes=((4, 2, 2), (16, 2, 2))
    ),
    (16, 64),
    pack=_pathways,
  ),
  "x3d_s": Oracle(_x3d(5, 64), (5, 64)),
  "mvit_base_16x4": Oracle(
    _pytorchvideo("mvit_base_16x4", spatial_size=64, temporal_size=4),
    (4, 64),
    options={"frames": 4, "side": 64},
  ),
  **{
    name: Oracle(_small_mvit(name), (4, 64), options={"frames": 4, "side": 64})
    for name in ("mvit_v1_b", "mvit_v2_s")
  },
  "s3d": Oracle(_s3d, (16, 64)),
  # Windows of 8 x 7 x 7 meet sides of 5 x 18 x 18, ..., 5 x 3 x 3 tokens.
  **{
    name: Oracle(_torchvision(name), (10, 72))
    for name in ("swin3d_t", "swin3d_s", "swin3d_b")
  },
  "videomae_base": Oracle(
    _videomae,
    (4, 64),
    pack=lambda x: x.transpose(1, 2),
    unpack=lambda y: y.logits,
  ),
  "timesformer_base": Oracle(
    _timesformer,
    (4, 64),
    pack=lambda x: x.transpose(1, 2),
    unpack=lambda y: y.logits,
    options={"frames": 4, "side": 64},
  ),
}
