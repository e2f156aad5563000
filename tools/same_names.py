"""Single names for what a paper's tables call by several."""

from eval.papers import raw_results
from eval.papers.printed_rows import PrintedRow
from tools import interval_doubts

# Another table's name of a network -> its name where the network is listed.
_OTHER_NAMES = {
  ("readme_imagenet_c", "ResNet-50 Baseline"): "ResNet-50",
  ("readme_imagenet_p", "ResNet-50 Baseline"): "ResNet-50",
  ("readme_imagenet_c", "ResNeXt-101 (vanilla)"): "ResNeXt-101",
}
_IMAGENET_VID = {
  "ResNet-50, Trained on ILSVRC": "resnet50_imagenet_pretrained",
  "ResNet-50 (jpeg_compression), + Noise Augmentation": (
    "resnet50_augment___jpeg_compression"
  ),
  "ResNeXt-101, + l_inf robustness": "ResNeXtDenoiseAll-101_robust_pgd",
  "ResNet-50, + FT on ImageNet-Vid": "resnet50_finetuned",
  "ResNet-152, + FT on ImageNet-Vid": "resnet152_finetuned",
  "ResNet-50 Faster R-CNN, + FT on ImageNet-Vid-Det": "resnet50_detection",
  "ResNet-152, fine-tuned": "resnet152_finetuned",
}
_YOUTUBE_BB = {
  **_IMAGENET_VID,
  "ResNet-50 (jpeg_compression), + Noise Augmentation": (
    "resnet50_augment__jpeg_compressioon"
  ),
  "ResNet-50, + FT on Youtube-BB": "resnet50_finetuned",
  "ResNet-152, + FT on Youtube-BB": "resnet152_finetuned",
}
_WHOLE = ("", "reviewed", "all")  # conditions of the whole reviewed set


def network(row: PrintedRow, dataset: str) -> str:
  """Return one name of a row's network in all tables of its paper.

  Args:
    row: of a table.
    dataset: one of the row's.
  """
  if row.paper == interval_doubts.PAPER:
    others = _YOUTUBE_BB if dataset == "ytbb_robust" else _IMAGENET_VID
    return others.get(row.label, row.label)
  if row.paper == raw_results.PAPER and row.model:
    return row.model
  return _OTHER_NAMES.get((row.table, row.network), row.label)


def condition(row: PrintedRow) -> str:
  """Return one name of a row's condition in all tables of its paper."""
  if row.paper == interval_doubts.PAPER:
    # `all` of Table 4 are frames that nobody reviewed, of Table 7 all reviewed.
    whole = _WHOLE if row.table != "table4" else _WHOLE[:2]
    return "" if row.name in whole else row.name
  return row.name
