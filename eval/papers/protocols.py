"""What the printed numbers of a data set are of: pixels, examples, views.

A board ranks printed rows beside a run's only where the run is of the same data;
`Protocol.differences` says what differs. Sources: docs/specs/corruptions.md
section 0, docs/specs/imagenet_p.md sections 1 and 3, docs/specs/detection.md
section 1, docs/specs/video.md sections 2 to 4.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Protocol:
  """What the printed numbers of a data set are of.

  Attributes:
    paper: the folder of its numbers.
    facts: name of a fact of the data (`eval/cells/cell_facts.py:DataFacts`)
      -> the values that are the published one; the first says it in words.
    apart: why no run's pixels are these; empty where they can be.
    baseline: what normalised numbers are divided by; empty where none are.
  """

  paper: str
  facts: Mapping[str, tuple[Any, ...]]
  apart: str = ""
  baseline: str = ""

  def differences(self, facts: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What keeps a run from being ranked with the printed numbers.

    Args:
      facts: of the run's data, `DataFacts.words()`; a fact that it does not
        know differs. With `baseline` where its numbers are normalised: the name
        of a published one, or a model of the run, in words.

    Returns:
      Fact -> (printed, the run's), of those that differ; `pixels` where no run's
      are the published ones.
    """
    out = {
      name: (values[0], facts.get(name))
      for name, values in self.facts.items()
      if facts.get(name) not in values
    }
    baseline = str(facts.get("baseline") or "")
    if baseline and not baseline.lower().startswith(self.baseline.lower()):
      out["baseline"] = self.baseline, baseline
    if self.apart:
      out["pixels"] = self.apart, "made in the run"
    return out

  def words(self) -> str:
    """In words, for captions."""
    named = [
      f"{name} {_word(values[0])}"
      for name, values in self.facts.items()
      if values[0]
    ]
    return ", ".join([*named, *filter(None, [self.apart])])


def _word(value: Any) -> str:
  if isinstance(value, list):
    return " x ".join(map(str, value))
  return f"{value:,}" if isinstance(value, int) else str(value)


def _of(examples: int, **facts: Any) -> dict[str, tuple[Any, ...]]:
  values = {n: v if isinstance(v, tuple) else (v,) for n, v in facts.items()}
  return {"examples": (examples,), **values, "subset": ("",)}


# The codecs of the published files are made in a run, or the files are read.
_JPEG = ("jpeg85", "published")
_H264 = ("h264", "published")
_BASELINE = "AlexNet"
_BGR = "corrupted as BGR arrays, without a seed"
_VIDEO = "perturbed once by the authors; MPEG's rates are not printed"
PROTOCOLS: Mapping[str, Protocol] = {
  "imagenet_c": Protocol(
    "hendrycks2019",
    _of(50_000, codec=_JPEG, edition="imagenet", px=[224, 224]),
    baseline=_BASELINE,
  ),
  "imagenet_p": Protocol(
    "hendrycks2019",
    _of(50_000, codec=_H264, edition="imagenet", px=[224, 224]),
    baseline=_BASELINE,
  ),
  "tiny_imagenet_p": Protocol(
    "hendrycks2019",
    _of(10_000, codec=_H264, edition="tiny_imagenet", px=[64, 64]),
    baseline=_BASELINE,
  ),
  "coco_c": Protocol("michaelis2019", _of(5_000), _BGR),
  "pascal_c": Protocol("michaelis2019", _of(4_952), _BGR),
  "cityscapes_c": Protocol("michaelis2019", _of(500), _BGR),
  "imagenet_vid_robust": Protocol("shankar2021", _of(22_179, merge="max")),
  "ytbb_robust": Protocol("shankar2021", _of(38_857, merge="max")),
  "kinetics400_p": Protocol("schiappa2023", _of(17_963, views=10), _VIDEO),
  "ssv2_p": Protocol("schiappa2023", _of(24_777, views=1), _VIDEO),
  "ucf101_p": Protocol("schiappa2023", _of(3_782, views=5), _VIDEO),
  "hmdb51_p": Protocol("schiappa2023", _of(1_529, views=5), _VIDEO),
}
