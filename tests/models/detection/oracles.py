"""torchvision's detectors with random weights, run beside a CPU torch.

Where torchvision's C extension does not load, its operators are defined here:
suppression in plain torch, RoIAlign by torchvision's own Python path.
"""

import functools
from typing import Any

import numpy as np

from tests import shared_data
from tests.models.convert import torchvision_cpu


def import_torch() -> Any:
  """torch, ready for torchvision's detectors; skips where it is missing."""
  torchvision = torchvision_cpu.package("torchvision")
  from torchvision import extension

  if not extension._has_ops():
    torchvision.ops.boxes._assert_has_ops = lambda: None
    module = __import__("torchvision.ops.roi_align", fromlist=["_"])
    module._roi_align = getattr(
      module._roi_align, "__wrapped__", module._roi_align
    )
    module._bilinear_interpolate = functools.partial(
      _interpolate, module._bilinear_interpolate
    )
    torchvision.ops.boxes.nms = _nms
  return torchvision_cpu.package()


def _interpolate(python, features, picture, y, x, ymask, xmask):
  """The extension's rule, which the Python path lacks: 0 beyond the border.

  roi_align_common.h: `y < -1.0 || y > height || x < -1.0 || x > width`. Boxes
  thinner than a pixel at the right or lower border reach there.
  """
  height, width = features.shape[-2:]
  rows = ((y >= -1) & (y <= height))[:, None, :, None, :, None]
  columns = ((x >= -1) & (x <= width))[:, None, None, :, None, :]
  return python(features, picture, y, x, ymask, xmask) * (rows & columns)


def _nms(boxes: Any, scores: Any, iou_threshold: float) -> Any:
  """torchvision.ops.nms; equal scores in their order."""
  import torch

  order = scores.argsort(descending=True, stable=True)
  ranked = boxes[order]
  over = torch.nan_to_num(_iou(ranked)) > iou_threshold
  keep = torch.ones(len(order), dtype=torch.bool)
  for i in range(len(order)):
    if keep[i]:
      keep[i + 1 :] &= ~over[i, i + 1 :]
  return order[keep]


def _iou(boxes: Any) -> Any:
  import torch

  area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
  low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
  high = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
  both = (high - low).clamp(min=0).prod(-1)
  return both / (area[:, None] + area[None] - both)


def detector(
  torch: Any, name: str, body: str, short_px: int, long_px: int
) -> Any:
  """torchvision's detector; on another body as its own functions build it.

  Args:
    torch: the package.
    name: of a function of `torchvision.models.detection`.
    body: of `torchvision.models`.
    short_px: shorter side of what the network sees.
    long_px: most that the longer side may be.
  """
  from torchvision.models import detection as reference
  from torchvision.models.detection import backbone_utils
  from torchvision.ops import feature_pyramid_network as pyramids

  sizes = {"min_size": short_px, "max_size": long_px}
  if body == "resnet50":
    return getattr(reference, name)(
      weights=None, weights_backbone=None, **sizes
    )
  coarser = {}
  if name.startswith("retinanet"):
    coarser = {
      "returned_layers": [2, 3, 4],
      "extra_blocks": pyramids.LastLevelP6P7(256, 256),
    }
  backbone = backbone_utils.resnet_fpn_backbone(
    backbone_name=body,
    weights=None,
    norm_layer=torch.nn.BatchNorm2d,
    trainable_layers=5,
    **coarser,
  )
  kind = {
    "retinanet": reference.RetinaNet,
    "fasterrcnn": reference.FasterRCNN,
    "maskrcnn": reference.MaskRCNN,
  }[name.split("_")[0]]
  return kind(backbone, num_classes=91, **sizes)


@functools.cache
def photographs() -> tuple[np.ndarray, np.ndarray]:
  """Canvases uint8 `[2, 120, 160, 3]` and valid sizes int32 `[2, 2]`.

  The second picture is narrower than its canvas.
  """
  folder = shared_data.path("data/imagenet_samples")
  import PIL.Image

  sizes = np.array([[120, 160], [120, 144]], np.int32)
  canvases = np.zeros((2, 120, 160, 3), np.uint8)
  paths = sorted(folder.glob("*.JPEG"))[3:5]
  for canvas, path, (height, width) in zip(canvases, paths, sizes):
    with PIL.Image.open(path) as picture:
      small = picture.convert("RGB").resize((int(width), int(height)))
    canvas[:height, :width] = np.asarray(small)
  return canvases, sizes


def randomise(
  torch: Any,
  module: Any,
  seed: int,
  gains: dict[str, float],
  offsets: dict[str, float],
) -> None:
  """Random weights, statistics near those of the photographs.

  Args:
    torch: the package.
    module: a detector of torchvision's.
    seed: of the weights.
    gains: part of a name -> factor on weights, so that detections differ.
    offsets: part of a name -> added to biases.
  """
  generator = torch.Generator().manual_seed(seed)

  def draw(shape):
    return torch.randn(shape, generator=generator)

  for name, value in module.state_dict().items():
    if "running_" in name or name.endswith("num_batches_tracked"):
      continue
    factor = next((g for part, g in gains.items() if part in name), 1.0)
    if value.ndim <= 1:
      gain = name.endswith("weight")
      new = 0.1 * draw(value.shape) + (0.8 if gain else 0.0)
      if not gain:
        new += next((o for part, o in offsets.items() if part in name), 0.0)
    else:
      new = draw(value.shape) * factor * (2 / value[0].numel()) ** 0.5
    value.copy_(new)
  body = module.backbone.body
  norms = [m for m in body.modules() if hasattr(m, "running_var")]
  for norm in norms:
    norm.momentum = 1.0
    norm.train()
  with torch.no_grad():
    body(module.transform(pictures(torch))[0].tensors)
  module.eval()
  for norm in norms:
    spread = norm.running_var + norm.running_var.mean()
    norm.running_mean.add_(0.05 * draw(spread.shape) * spread.sqrt())
    norm.running_var.copy_(spread)
    norm.eps = 0.0  # as torchvision's overwrite_eps for its own weights
  if hasattr(module, "roi_heads"):
    _spread_scores(torch, module)


def _spread_scores(torch: Any, module: Any) -> None:
  """Centres the logits over proposals: else all boxes are of one class."""
  predictor = module.roi_heads.box_predictor
  seen = []
  hook = predictor.register_forward_hook(lambda m, i, out: seen.append(out[0]))
  run(torch, module)
  hook.remove()
  last = predictor.cls_score
  factor = 2.0 / seen[0].std(0)
  with torch.no_grad():
    last.weight.mul_(factor[:, None])
    last.bias.copy_((last.bias - seen[0].mean(0)) * factor)


def pictures(torch: Any) -> list[Any]:
  """The photographs as torchvision takes them."""
  canvases, sizes = photographs()
  return [
    torch.from_numpy(c[:h, :w].transpose(2, 0, 1).copy()).float() / 255
    for c, (h, w) in zip(canvases, sizes)
  ]


def run(torch: Any, module: Any) -> tuple[list[np.ndarray], list[dict]]:
  """Levels `[2, H, W, 256]`, and each picture's detections as numpy."""
  with torch.no_grad():
    batch = module.transform(pictures(torch))[0]
    levels = module.backbone(batch.tensors).values()
    found = module(pictures(torch))
  return (
    [level.numpy().transpose(0, 2, 3, 1) for level in levels],
    [{k: v.numpy() for k, v in one.items()} for one in found],
  )
