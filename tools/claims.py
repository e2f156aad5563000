"""The papers' sentences that follow from stored numbers: computed and printed values.

  python -m tools.claims                  # all
  python -m tools.claims deformable_rpc   # one

What they follow from: the papers' other printed numbers (`eval/papers`), the tables
of conditions, the authors' metadata in tests/golden, our formulas. The lines of
docs/evidence/coverage.tsv name them; tests/claims_test.py holds each.
"""

import gzip
import json
import math
import pathlib
import statistics
import sys
from collections.abc import Callable, Iterable

import numpy as np

from eval import papers
from eval.metrics import stability
from eval.papers import raw_results
from robust_tfds import conditions, errors

_METADATA = pathlib.Path(__file__).parents[1] / "tests/golden/vid_robust"
# The later frame's ranks of the earlier frame's classes 1, 2, ... : the eight
# examples of Hendrycks & Dietterich 2019, Appendix C; the rest stay in order.
_PERMUTATIONS: tuple[Iterable[int], ...] = (
  (),
  (1, 2, 3, 4, 6, 5, 7, 8),
  (1, 2, 3, 4, 6, 7, 5, 8),
  (2, 1, 3, 4, 5, 6),
  (3, 1, 2, 4, 5, 6),
  (*range(2, 1001), 1),
  (1, 2, 3, 5, 6, 4, 7, 8),
  (5, 4, 3, 2, 1, 6, 7, 8, 9),
)
_CLIPS = {"hmdb51_p": 137_610, "ucf101_p": 340_380}
_CLIPS |= {"kinetics400_p": 1_616_670, "ssv2_p": 2_229_930}
# Deformable -> plain, of the same data; the row x101-64x4d-dcn is a 32x4d network.
_PLAIN = {
  "Faster R-CNN r50-dcn": ("Faster R-CNN r50",),
  "Faster R-CNN x101-64x4d-dcn": (
    "Faster R-CNN x101-32x4d",
    "Faster R-CNN x101-64x4d",
  ),
  "Mask R-CNN r50-dcn": ("Mask R-CNN r50",),
}


def _printed(paper: str, table: str, **fields: str) -> list[papers.PrintedRow]:
  return [
    row
    for row in papers.rows(paper)
    if row.table == table
    and all(getattr(row, key) == value for key, value in fields.items())
  ]


def _printed_number(paper: str, table: str, **fields: str) -> float:
  """Return a printed number in percent; the first line's if two agree."""
  rows = _printed(paper, table, **{"name": "", **fields})
  return 100 * rows[0].value


def _hendrycks(table: str, network: str, metric: str) -> float:
  return _printed_number("hendrycks2019", table, network=network, metric=metric)


def _michaelis(table: str, network: str, metric: str, **fields: str) -> float:
  rows = _printed("michaelis2019", table, network=network, metric=metric)
  dataset = fields.pop("dataset", "coco_c")
  chosen = [
    row
    for row in rows
    if dataset in row.datasets
    and all(getattr(row, k) == v for k, v in fields.items())
  ]
  return 100 * chosen[0].value


def corruptions() -> str:
  """Count 15 types at five levels and four more; sequences of over 30 frames."""
  pictures, sequences = conditions.PICTURES, conditions.SEQUENCES
  count = len(pictures.names("common"))
  return (
    f"{count} corruptions x 5 = {5 * count}, {len(pictures.names('extra'))} more"
    f" apart; {len(sequences.names('common'))} +"
    f" {len(sequences.names('extra'))} sequences"
  )


def top5_examples() -> str:
  """State the distances of Appendix C's eight permutations."""
  first, out = np.arange(1000), []
  for start in _PERMUTATIONS:
    sigma = [*start]
    sigma += range(len(sigma) + 1, 1001)
    later = np.argsort(sigma, kind="stable")
    out.append(stability.top5_distance(np.stack([first, later])[None]))
  return f"d' = {', '.join(f'{d:.0f}' for d in out)}"


def relative_mce() -> str:
  """Compare robustness itself from AlexNet to ResNet-50."""
  of = [
    _hendrycks("table2", network, "relative_mce")
    for network in ("AlexNet", "ResNet-50")
  ]
  return f"relative mCE {of[0]:.1f} of AlexNet, {of[1]:.1f} of ResNet-50"


def batch_normalization() -> str:
  """State what batch normalization did to VGG-19: corruptions, perturbations."""
  return _two_means("VGG-19", "VGG-19+BN")


def vgg_beside_resnet() -> str:
  """State that VGG-19 is worse than ResNet-18 on -C, and better on -P."""
  return _two_means("VGG-19", "ResNet-18")


def _two_means(*networks: str) -> str:
  """Return the means of two networks on ImageNet-C and -P."""
  parts = (("table1", "mce"), ("table3", "mfr"), ("table4", "mt5d"))
  told = (
    f"{metric} "
    + " and ".join(f"{_hendrycks(table, n, metric):.1f}" for n in networks)
    for table, metric in parts
  )
  return f"{', '.join(networks)}: {', '.join(told)}"


def vgg11_of_figure9() -> str:
  """State that the points of VGG-11 lie where VGG-19's do."""
  rows = _printed("hendrycks2019", "figure9")
  names = ("VGG-11 (script loads VGG-19)", "VGG-19", "ResNet-18")
  told = (
    f"{name} " + "/".join(r.text for r in rows if r.network == name)
    for name in names
  )
  return f"accuracy/seen/unseen: {', '.join(told)}"


def rpc_range() -> str:
  """State the share of its performance that a standard detector falls to."""
  values = [
    100 * row.value
    for table in ("table1", "table3")
    for row in _printed("michaelis2019", table)
    if row.metric.endswith("rpc")
  ]
  return f"rPC from {min(values):.1f} to {max(values):.1f} %"


def heads_rpc() -> str:
  """State that other heads on ResNet-50 keep the same share."""
  heads = ("Mask", "Cascade", "Cascade Mask")
  values = [_michaelis("table1", f"{head} R-CNN r50", "rpc") for head in heads]
  return f"rPC {min(values):.1f} to {max(values):.1f} %"


def backbones() -> str:
  """State what a stronger backbone gains on clean and on corrupted pictures."""
  told = []
  for network in ("r101", "x101-32x4d", "x101-64x4d"):
    gains = (
      _michaelis("table1", f"Faster R-CNN {network}", metric)
      - _michaelis("table1", "Faster R-CNN r50", metric)
      for metric in ("p", "mpc")
    )
    told.append(f"{network} " + "/".join(f"{gain:+.1f}" for gain in gains))
  return f"P/mPC beside r50: {', '.join(told)}"


def hybrid_task_cascade() -> str:
  """State the lead of Hybrid Task Cascade over the next network of Table 1."""
  best = "Faster R-CNN x101-64x4d"
  gains = (
    _michaelis("table1", "HTC x101-64x4d", metric)
    - _michaelis("table1", best, metric)
    for metric in ("p", "mpc")
  )
  return "P {:+.1f}, mPC {:+.1f} beside {}".format(*gains, best)


def stylized_gains() -> str:
  """State what combined training gains in mPC and loses in P."""
  told = []
  for dataset in ("pascal_c", "coco_c", "cityscapes_c"):
    plain, both = (
      {
        metric: _michaelis(
          "table2",
          "Faster R-CNN r50",
          metric,
          dataset=dataset,
          training=training,
        )
        for metric in ("p", "mpc")
      }
      for training in ("standard", "combined")
    )
    gain = 100 * (both["mpc"] / plain["mpc"] - 1)
    told.append(f"{dataset} {gain:+.1f} %, P {both['p'] - plain['p']:+.1f}")
  return "; ".join(told)


def deformable_rpc() -> str:
  """State the points of rPC that deformable convolutions gain."""
  told = []
  for network, plain in _PLAIN.items():
    for other in plain:
      gain = _michaelis("table5", network, "rpc") - _michaelis(
        "table1", other, "rpc"
      )
      told.append(f"{network} beside {other} {gain:+.1f}")
  masks = _michaelis("table6", "Mask R-CNN r50-dcn", "segm/rpc")
  masks -= _michaelis("table3", "Mask R-CNN r50", "segm/rpc")
  return f"{', '.join(told)}, masks {masks:+.1f}"


def rmse_wraps() -> str:
  """State that Figure 6's RMSE cannot exceed 16: squares of bytes wrap."""
  largest = max(v for of in raw_results.rmse().values() for v in of.values())
  wrapped = math.sqrt(statistics.fmean(k * k % 256 for k in range(256)))
  one = raw_results.rmse()["pascal_c"]
  noise = max(v for c, v in one.items() if c.name == "gaussian_noise")
  return (
    f"largest {largest:.2f}, Gaussian noise 5 {noise:.2f}; bytes at random,"
    f" wrapped: {wrapped:.2f}"
  )


def natural_totals() -> str:
  """Count frames and sets of both data sets of natural perturbations."""
  rows = _printed("shankar2021", "table1")
  pairs, anchors = (
    sum(row.value for row in rows if row.metric == metric)
    for metric in ("pairs_accepted", "anchors_accepted")
  )
  return f"{pairs:,.0f} pairs, {anchors:,.0f} anchors"


def natural_metadata() -> str:
  """State what the authors' metadata of ImageNet-Vid-Robust hold."""
  packed = _METADATA / "imagenet_vid_robust_pmsets.json.gz"
  sets = json.loads(gzip.decompress(packed.read_bytes()))
  pairs = sum(map(len, sets.values()))
  mapped = f"{_mapped('imagenet_vid_30')} and {_mapped('ytbb_24')}"
  return f"{len(sets):,} anchors, {pairs:,} pairs; {mapped} mapped classes"


def _mapped(name: str) -> int:
  """Return how many ImageNet-1K classes the authors' map of a set names."""
  path = _METADATA / f"{name}_class_map.json"
  listed = json.loads(path.read_text("utf-8"))["classes"]
  return len({i for of in listed for i in of["ilsvrc_indices"]})


def natural_medians() -> str:
  """State the median drop of Tables 5 and 6."""
  told = []
  for table in ("table5", "table6"):
    drops = [
      100 * row.value for row in _printed("shankar2021", table, metric="drop")
    ]
    median = statistics.median(drops)
    told.append(f"{median:.2f} of {len(drops)} models in {table}")
  return ", ".join(told)


def detection_medians() -> str:
  """State the median drop of Table 3's three detectors."""
  told = (
    statistics.median(
      100 * row.value
      for row in _printed("shankar2021", "table3", metric=metric)
    )
    for metric in ("drop", "localization/drop")
  )
  return "mAP {:.1f}, localization {:.1f}".format(*told)


def video_counts() -> str:
  """State that the released videos are 90 times the clips."""
  each = len(conditions.VIDEOS.names("common")) * 5
  told = (
    f"{name} {total:,} = {each} x {total // each:,}"
    for name, total in _CLIPS.items()
    if total % each == 0
  )
  return ", ".join(told)


def shift_categories() -> str:
  """State Table 8's categories and their sums."""
  rows = _printed("schiappa2023", "table8")
  shifts, clips = (
    sum(row.value for row in rows if row.metric == metric)
    for metric in ("shifts", "clips")
  )
  count = len({row.line for row in rows})
  return f"{count} categories, {shifts:.0f} shifts, {clips:,.0f} clips"


def sampling_and_reversing() -> str:
  """Count the numbers in which Sampling and Reversing are alike."""
  told = []
  for table in ("table4", "table5", "table6", "table7"):
    pair = [
      [row.text for row in _printed("schiappa2023", table, name=name)]
      for name in ("sampling", "reverse_sampling")
    ]
    alike = sum(a == b for a, b in zip(*pair, strict=True))
    told.append(f"{table} {alike} of {len(pair[0])}")
  return f"alike: {', '.join(told)}"


def trained_on_perturbed() -> str:
  """State Figure 12's ranges of the two networks of section 6.4."""
  told = []
  for network in ("MViT", "ResNet50"):
    rows = _printed("schiappa2023", "figure12", network=network)
    values = [row.value for row in rows]
    told.append(f"{network} {min(values):.2f} to {max(values):.2f}")
  return f"gamma_r: {', '.join(told)}"


CLAIMS: dict[str, Callable[[], str]] = {
  function.__name__: function
  for function in (
    corruptions,
    top5_examples,
    relative_mce,
    batch_normalization,
    vgg_beside_resnet,
    vgg11_of_figure9,
    rpc_range,
    heads_rpc,
    backbones,
    hybrid_task_cascade,
    stylized_gains,
    deformable_rpc,
    rmse_wraps,
    natural_totals,
    natural_metadata,
    natural_medians,
    detection_medians,
    video_counts,
    shift_categories,
    sampling_and_reversing,
    trained_on_perturbed,
  )
}


def main() -> None:
  """Print the named claims, or all."""
  for name in sys.argv[1:] or CLAIMS:
    if name not in CLAIMS:
      sys.exit(f"Error: {errors.unknown_error('claim', name, CLAIMS)}")
    print(f"{name}: {CLAIMS[name]()}")


if __name__ == "__main__":
  main()
