"""Prints how far every corruption is from the authors' own pixels.

  python tools/golden_report.py

Deterministic corruptions: worst |d| and worst |mean d| over all stored outputs,
and the share of values that differ. Random ones: the worst deviation of any
statistic over 32 keys, as a share of what four standard errors allow. Then the
same of ImageNet-P's deterministic sequences and of the deterministic
perturbations of videos.
"""

import collections

import numpy as np
from PIL import Image

from robust_tfds import conditions, corruptions
from tests import shared_data
from tests.corruptions import replays, statistics_of
from tests.corruptions.image import golden_test, statistics_test
from tests.corruptions.sequence import golden_test as sequence_golden_test


def main() -> None:
  """Prints one line a corruption."""
  replays.use_frost()
  root = shared_data.path("golden", "corruptions")
  for name in golden_test._DETERMINISTIC:
    worst = collections.defaultdict(float)
    for key in golden_test._INPUTS:
      for path in sorted(
        (root / "deterministic" / key).glob(f"{name}_[1-5].png")
      ):
        want = np.asarray(Image.open(path).convert("RGB")).astype(int)
        got = corruptions.corrupt(
          golden_test._input(key),
          name,
          int(path.stem[-1]),
          edition=golden_test._edition(key),
          key=corruptions.example_key(0, "golden", name, 1, key),
        )
        d = np.asarray(got).astype(int) - want
        worst["d"] = max(worst["d"], np.abs(d).max())
        worst["mean"] = max(worst["mean"], abs(d.mean()))
        worst["share"] = max(worst["share"], (d != 0).mean())
    print(
      f"{name:18s} worst |d| {worst['d']:.0f}  worst |mean d|"
      f" {worst['mean']:.4f}  differing {100 * worst['share']:.2f} %"
    )
  for name in statistics_test.NAMES:
    ratios = [
      _ratio(name, key, s) for key in ("img0", "cifar32") for s in (1, 3, 5)
    ]
    print(f"{name:18s} worst statistic {max(ratios):.2f} of what is allowed")
  _sequences()
  _videos()


def _sequences() -> None:
  """ImageNet-P: whole frames, crops of all frames, and their sha256."""
  for name in sequence_golden_test.EXACT:
    worst, share, equal, frames = 0, 0.0, 0, 0
    for photo in sequence_golden_test.PHOTOS:
      golden = sequence_golden_test.read_golden(photo, name)
      corrupted = np.asarray(
        corruptions.sequence(
          sequence_golden_test.read_photo(photo),
          name,
          key=sequence_golden_test.a_key(),
        )
      )
      for d in sequence_golden_test.differences(corrupted, golden):
        worst, share = max(worst, np.abs(d).max()), max(share, (d != 0).mean())
      digests = sequence_golden_test.digests(corrupted)
      equal += sum(a == b for a, b in zip(digests, golden["sha256"].tolist()))
      frames += len(corrupted)
    print(
      f"sequence {name:13s} worst |d| {worst}  differing {100 * share:.3f} %"
      f"  sha256 equal {equal} of {frames} frames"
    )


def _videos() -> None:
  """Clips against those of the released code."""
  folder = shared_data.path("golden", "video")
  kinds = {
    "static_rotation": ("static_rotate_{}", "clip_32x128x171.npz"),
    "defocus_blur": ("defocus_blur_{}", "clip_32x128x171.npz"),
    "jpeg": ("compression_{}", "clip_32x128x171.npz"),
    "zoom_blur": ("zoom_blur_{}_big", "clip_8x256x256.npz"),
  }
  with np.load(folder / "deterministic_frames.npz") as stored:
    for name, (stem, clip) in kinds.items():
      keep = [0, 7] if name == "zoom_blur" else stored["keep"]
      with np.load(folder / clip) as f:
        video = f["clip"]
      gaps = []
      for severity in conditions.SEVERITIES:
        key = corruptions.example_key(0, "golden", name, severity, "clip")
        got = corruptions.perturb_video(video, name, severity, key=key)
        want = stored[stem.format(severity)].astype(int)
        gaps.append(np.asarray(got)[keep].astype(int) - want)
      print(
        f"video {name:16s} worst |d| {max(np.abs(d).max() for d in gaps)}"
        f"  worst |mean d| {max(abs(d.mean()) for d in gaps):.4f}  differing"
        f" {100 * max((d != 0).mean() for d in gaps):.2f} %"
      )


def _ratio(name: str, key: str, severity: int) -> float:
  image = replays.picture(key)
  ids = [str(i) for i in range(32)]
  outputs = corruptions.corrupt_batch(
    np.broadcast_to(image, (32, *image.shape)),
    name,
    severity,
    edition=statistics_test.EDITIONS[key],
    keys=conditions.raw_keys(0, "golden", name, severity, ids),
  )
  golden = statistics_of.reference()[key][name][str(severity)]
  return statistics_of.worst(image, np.asarray(outputs), golden)[0]


if __name__ == "__main__":
  main()
