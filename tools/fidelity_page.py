"""Write docs/evidence/FIDELITY.md: every distance from the papers' own code.

  python -m tools.fidelity_page            # measures the pixels anew, minutes
  python -m tools.fidelity_page --stored   # from what docs/evidence/fidelity.tsv holds

Measuring needs what may not be shipped (tests/golden/README.md); the rest follows
from `models/parity.tsv`, `eval/papers` and the pages beside it.
"""

import argparse
import re
import statistics
import sys
import unittest
from collections.abc import Iterable, Iterator, Sequence

from eval import papers
from models import cards
from models.spec import KINDS
from robust_tfds import models
from tools import fidelity
from tools.fidelity import Row

FILE = fidelity.FILE.with_name("FIDELITY.md")
_PARITY = re.compile(r"\d\.\de-\d+")
_RATE = re.compile(r"^(\d+ of \d+) printed numbers agree", re.MULTILINE)
_HEAD = """\
# How faithful it is

Made by `python -m tools.fidelity_page`. Outputs of the papers' own code are compared
with ours. Each line names the test that holds it, so a change that moves a number here
fails. Grey levels are out of 255. What differs on purpose is in
[FIDELITY.md](../FIDELITY.md).

| | |
|---|---|
"""
_DETERMINISTIC = """
## Pixels: corruptions without random numbers

Compared are all {outputs} stored outputs of the authors' code: ImageNet-C, CIFAR-10-C,
Tiny-ImageNet-C, and `imagecorruptions` for other sizes. The ten pictures are grey and
colour, from 32 px to 640 x 480
([how they were made](../../tests/golden/corruptions/README.md)). The test is
`tests/corruptions/image/golden_test.py`.

"""
_RANDOM = """
## Pixels: corruptions with random numbers

Random numbers are ours, one key a picture, so pixels are compared twice.

- *Same draws*: the authors' code ran with a seed, and what it drew is given to ours.
  There are {outputs} outputs per corruption (`tests/corruptions/image/golden_test.py`).
- *Own draws*: mean, spread, quantiles, correlations and share of changed pixels are
  compared over 32 runs of each code. The worst statistic of {cells} pictures and
  severities is shown. 1 is the limit: four standard errors of the difference, and a slack
  of half a percent (`tests/corruptions/image/statistics_test.py`).

"""
_OTHERS = """
## Pixels: sequences and videos

Compared are whole frames, and crops of all frames: two photographs of ImageNet-P, and
clips of the action-recognition paper at five severities. Two tests hold them,
`tests/corruptions/sequence/golden_test.py` and `tests/corruptions/video/golden_test.py`.
They hold the random perturbations too: noises, snow and spatter with the authors' layers,
orders of frames, and the loss of MPEG.

"""
_DEVICES = """
## Pixels: a GPU beside a CPU

The draws are the same, but not always the rounding: XLA orders sums by device. Six
photographs under all corruptions at three severities each were computed on one NVIDIA
H200 and on the CPU. This was measured once; no test has a GPU.

| corruptions | largest difference, levels | values that differ |
| --- | --- | --- |
| `elastic_transform` | 2 | .0155 % |
| `fog` | 1 | .003 % |
| `gaussian_noise`, `speckle_noise`, `zoom_blur` | 1 | under .0003 % |
| thirteen others | 0 | none |

How many devices or hosts of one kind share the work changes nothing.
"""
_NUMBERS = "\n## Metrics and printed numbers\n\n"
# What, beside what, how near; the tests that hold it.
_METRICS = (
  (
    "detection: P, mPC, rPC of the authors' raw results",
    "the paper's tables",
    "{rate} numbers, each counted once, within half of the last printed digit;"
    " [the others, with why](DETECTION_TABLES.md)",
    "eval/run/rescore_test.py",
  ),
  (
    "the papers' {printed:,} printed numbers",
    "each other",
    "{doubtful:,} do not fit others; [named, with the rule](PRINTED_NUMBERS.md)",
    "printed_doubts_test.py",
  ),
  (
    "mCE, relative mCE",
    "formulas of the authors' code",
    "1e-12",
    "eval/metrics/metrics_test.py",
  ),
  (
    "flip probability, top-5 and Zipf distances",
    "the authors' ImageNet-P/test.py",
    "1e-12",
    "eval/metrics/metrics_test.py",
  ),
  (
    "pm-k accuracy, its curve and breakdowns",
    "the authors' testbed",
    "1e-12; intervals 1e-9",
    "eval/metrics/pm_k/golden_test.py",
  ),
  (
    "COCO AP, boxes and masks",
    "pycocotools",
    "1e-9",
    "eval/metrics/detection/coco_test.py",
  ),
  (
    "VOC AP50",
    "two independent implementations",
    "1e-9",
    "eval/metrics/detection/voc_test.py",
  ),
  ("resized pictures", "Pillow 11.3.0", "byte for byte", "resizing_test.py"),
  (
    "95 % intervals",
    "simulations",
    "[coverage by case](INTERVALS.md)",
    "eval/coverage",
  ),
)
_NETWORKS = """
## Networks

The original module and ours get the same random weights in float32. The distance is that
of the logits, over their scale. Originals are modules of torchvision, timm, transformers,
pretrainedmodels, pytorchcv and pytorchvideo. A model's card (`robust-tfds card NAME`) has
its number, and says where the original's own rounding is as large. The tests are
`tests/models/convert/parity_test.py`, `tests/models/detection/parity_test.py` and
`tests/models/video/parity_test.py`.

{compared} networks were compared, {small_count} of them as miniatures of two
blocks, 48 wide: {small}.
About half of the catalogue was not, most detectors among them
([more](#what-was-not-compared)).

"""
_WEIGHTS = """
With public weights, [EfficientNet-Lite 0, 1 and 2](EFFICIENTNET_LITE.md) answer 242
photographs as torch's code does: 216, 212 and 222 right
(`tests/models/classification/classification_test.py`).
"""
_LIMITS = """
## What was not compared

Networks without a parity in their card were not held beside an original module. The
cards of some say what was done instead. The docs site lists their names on the page of
all models (`tools/docs_site/models.py`).

No published ImageNet-C, -P or Kinetics number of a network was reproduced end to end:
that takes the data sets and the authors' weights. The published archives differ from
any new run by the authors' unseeded random numbers. The suffix `_published` reads the
archives themselves.
"""


def main() -> None:
  """Measure, unless told not to, and write the page."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument(
    "--stored", action="store_true", help="Do not measure the pixels anew."
  )
  if not parser.parse_args().stored:
    try:
      fidelity.store(list(fidelity.measured()))
    except unittest.SkipTest as missing:
      sys.exit(
        f"Error: {missing} {FILE.name} holds what was measured last, and"
        " --stored writes it again from docs/evidence/fidelity.tsv."
      )
  FILE.write_text(text(fidelity.stored()), "utf-8")
  print(f"wrote {FILE}")


def text(rows: Sequence[Row]) -> str:
  """Return the page."""
  kinds: dict[str, list[Row]] = {}
  for row in rows:
    kinds.setdefault(row.kind, []).append(row)
  images, drawn = kinds["image"], kinds["drawn"]
  outputs = sum(row.outputs for row in images)
  cells = len(fidelity.PICTURES) * len(fidelity.SEVERITIES)
  printed = [row for paper in papers.names() for row in papers.rows(paper)]
  doubtful = {r for doubt in papers.doubts() for r in doubt.rows}
  told = {
    "rate": _rate(),
    "printed": len(printed),
    "doubtful": len(doubtful),
  }
  metrics = [
    (what.format(**told), beside, near.format(**told), _code(f"tests/{test}"))
    for what, beside, near, test in _METRICS
  ]
  parts = [
    _HEAD,
    *_summary(images, drawn),
    _DETERMINISTIC.format(outputs=outputs),
    _table(_PIXELS, map(_pixels, images)),
    _RANDOM.format(outputs=drawn[0].outputs, cells=cells),
    _table(_DRAWN, map(_of_drawn, drawn)),
    _OTHERS,
    _table(_PIXELS, map(_pixels, [*kinds["sequence"], *kinds["video"]])),
    _DEVICES,
    _NUMBERS,
    _table(_HELD, metrics),
    _NETWORKS.format(**_counts()),
    _table(_PARITIES, _parities()),
    _WEIGHTS,
    _LIMITS,
  ]
  return "".join(parts)


_PIXELS = (
  "corruption",
  "outputs",
  "largest difference, levels",
  "of an output's mean, levels",
  "values that differ, at most",
)
_HELD = ("what", "beside", "how near", "held by")
_DRAWN = (*_PIXELS, "own draws: worst statistic")
_PARITIES = ("kind", "compared", "half are within", "all are within")
_SMALL = "(two blocks, 48 wide)"


def _summary(images: Sequence[Row], drawn: Sequence[Row]) -> Iterator[str]:
  exact = sum(row.worst == 0 for row in images)
  statistic = max(float(row.statistic) for row in drawn)
  lines = {
    f"{len(images)} corruptions without random numbers": (
      f"within {max(row.worst for row in images)} grey level of the authors'"
      f" pixels at every severity, {exact} of them equal"
    ),
    f"{len(drawn)} with random numbers": (
      "given the authors' draws, within"
      f" {max(row.worst for row in drawn)} grey level; with our own, the worst"
      f" statistic is at {statistic:g} of what chance allows"
    ),
    "detection tables": f"{_rate()} printed numbers from the raw results, each"
    " counted once",
    "networks": "logits beside the original modules', of random weights: "
    + "; ".join(
      f"{compared} of {kind}, half of them within {half}"
      for kind, compared, half, _ in _parities()
    ),
  }
  for what, words in lines.items():
    yield f"| {what} | {words} |\n"


def _pixels(row: Row) -> tuple[str, ...]:
  kind = f" ({row.kind})" if row.kind in ("sequence", "video") else ""
  return (
    f"`{row.name}`{kind}",
    str(row.outputs),
    str(row.worst),
    row.mean,
    f"{row.differing} %",
  )


def _of_drawn(row: Row) -> tuple[str, ...]:
  return (*_pixels(row), row.statistic)


def _rate() -> str:
  """Return `89 of 96`, as the tables with printed numbers say."""
  page = FILE.with_name("DETECTION_TABLES.md").read_text("utf-8")
  (rate,) = _RATE.findall(page)
  return rate


def _parities() -> Iterator[tuple[str, ...]]:
  """Return kind -> the number compared, median and largest distance."""
  for kind in KINDS:
    numbers = [float(number) for number in _compared(kind).values()]
    middle = f"{statistics.median_high(numbers):.1e}"
    yield kind, str(len(numbers)), middle, f"{max(numbers):.1e}"


def _compared(kind: str) -> dict[str, str]:
  """Return the parity of each compared model of a kind."""
  parities = cards.parities()
  return {
    name: match[0]
    for name in models.names(kind=kind)
    if (match := _PARITY.match(parities.get(name, ("", ""))[1]))
  }


def _counts() -> dict[str, str]:
  """Return the page's words on the number of compared networks."""
  compared = {name for kind in KINDS for name in _compared(kind)}
  small = [n for n in compared if cards.parities()[n][1].endswith(_SMALL)]
  return {
    "compared": str(len(compared)),
    "small_count": str(len(small)),
    "small": ", ".join(map(_code, sorted(small))),
  }


def _code(words: str) -> str:
  return f"`{words}`"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
  lines = [heads, ["---"] * len(heads), *rows]
  return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
  main()
