"""Examples of a prepared detection dataset as a COCO instances dict.

pycocotools, hotcoco and other tools of COCO's formats read this dict. It holds
all that COCO's evaluation reads, bit for bit: the numbers of a prepared
`coco_c` are those of the official JSON.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from robust_tfds import errors, strings


def category_ids(names: Sequence[str], ids: Sequence[int] = ()) -> list[int]:
  """Return the category id of each label.

  Args:
    names: class names by label.
    ids: the dataset's own ids, a builder's `CATEGORY_IDS`; empty: label + 1.

  Raises:
    UserError: there is not one id for each name, or an id is used twice.
  """
  chosen = list(ids) or list(range(1, len(names) + 1))
  if len(chosen) != len(names) or len(set(chosen)) != len(chosen):
    raise errors.UserError(
      f"{len(names)} classes need {len(names)} different category ids, got"
      f" {len(chosen)}: {chosen[:10]}."
    )
  return chosen


def ground_truth(
  examples: Iterable[Mapping[str, Any]],
  names: Sequence[str],
  ids: Sequence[int] = (),
) -> dict[str, list[dict[str, Any]]]:
  """Return the COCO instances dict of examples.

  Args:
    examples: examples from `tfds.as_numpy` or `as_data_source`, read once. The
      pictures are not used: read them with `decoders={"image":
      tfds.decode.SkipDecoding()}`.
    names: class names by label, `info.features["objects"]["label"].names`.
    ids: the dataset's category ids, see `category_ids`.

  Returns:
    `images`, `annotations`, `categories`. Annotations have VOC's `difficult`
    and a `segmentation` if the dataset has them.

  Raises:
    UserError: see `category_ids`.
  """
  numbers = category_ids(names, ids)
  images, annotations = [], []
  for example in examples:
    height, width = example["size"]
    image_id = int(example["image_id"])
    images.append(
      {
        "id": image_id,
        "file_name": strings.text(example["example_id"]),
        "height": int(height),
        "width": int(width),
      }
    )
    objects = example["objects"]
    for i in range(len(objects["id"])):
      annotations.append(_annotation(objects, i, image_id, numbers))
  return {
    "images": images,
    "annotations": annotations,
    "categories": [
      {"id": n, "name": name} for n, name in zip(numbers, names, strict=True)
    ],
  }


def _annotation(
  objects: Mapping[str, Any], i: int, image_id: int, numbers: Sequence[int]
) -> dict[str, Any]:
  out = {
    "id": int(objects["id"][i]),
    "image_id": image_id,
    "category_id": numbers[int(objects["label"][i])],
    "bbox": [float(v) for v in objects["bbox_px"][i]],
    "area": float(objects["area"][i]),
    "iscrowd": int(objects["is_crowd"][i]),
  }
  if "is_difficult" in objects:
    out["difficult"] = int(objects["is_difficult"][i])
  if "mask" in objects:
    masks = objects["mask"]
    out["segmentation"] = {
      "size": [int(n) for n in masks["size"][i]],
      "counts": strings.text(masks["counts"][i]),
    }
  return out
