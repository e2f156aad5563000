"""Our corruptions beside imagecorruptions, in one process on one core.

  python -m venv peers
  peers/bin/pip install -e . imagecorruptions 'setuptools<81'
  peers/bin/python -m benchmarks.corruptions --size=224

Prints, per corruption and severity, our ms per image (a batch of 32, warm), the
peer's, the ratio, and our time in units of one draw of 150,528 normals (numpy's
PCG64, float32) measured in the same run; then our compile times. Times on shared
machines are noisy: read the ratios.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
from absl import app
from absl import flags

from robust_tfds import conditions

_SIZE = flags.DEFINE_list("size", ["224", "224"], "Height and width, px.")
_BATCH = flags.DEFINE_integer("batch", 32, "Images a call of ours.")
_NAMES = flags.DEFINE_string("names", "all", "Which corruptions.")
_FROST = flags.DEFINE_string("frost_dir", "", "Folder of the frost pictures.")
_SEVERITIES = (1, 2, 3, 4, 5)


def _best(call: Callable[[], object], repeats: int = 3) -> float:
  """Least wall time of a call in ms, after one that is not counted."""
  call()
  times = []
  for _ in range(repeats):
    start = time.perf_counter()
    call()
    times.append(time.perf_counter() - start)
  return 1e3 * min(times)


def _peer() -> Callable | None:
  """imagecorruptions' `corrupt`, mended where new scikit-image broke it."""
  try:
    import skimage.filters
    import skimage.util

    gaussian = skimage.filters.gaussian

    def mended(image, *args, multichannel=None, **kwargs):
      if multichannel:
        kwargs["channel_axis"] = -1
      return gaussian(image, *args, **kwargs)

    skimage.filters.gaussian = mended
    import imagecorruptions
    from imagecorruptions import corruptions as functions
  except ImportError as e:
    print(f"No peer: {e}. See the header of {__file__}.")
    return None
  functions.gaussian = mended
  return imagecorruptions.corrupt


def main(argv: Sequence[str]) -> None:
  """Measures and prints."""
  del argv
  os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
  warnings.simplefilter("ignore")
  peer = _peer()
  import jax

  from robust_tfds import corruptions
  from robust_tfds.corruptions import frost_pictures

  if _FROST.value:
    frost_pictures.use_folder(_FROST.value)
  height, width = (int(n) for n in (_SIZE.value * 2)[:2])
  batch = _pictures(_BATCH.value, height, width)
  edition = "imagenet" if (height, width) == (224, 224) else "any"
  ids = [str(i) for i in range(len(batch))]
  keys = jax.numpy.asarray(conditions.raw_keys(0, "bench", "x", 1, ids))
  rng = np.random.default_rng(0)
  unit = _best(lambda: rng.standard_normal(150528, dtype=np.float32), 20)
  print(
    f"{height}x{width}, edition {edition}, one core; 150,528 normals {unit:.2f} ms"
  )
  total, others, compile_s, slower = 0.0, 0.0, 0.0, []
  for name in conditions.PICTURES.resolve(_NAMES.value):
    ours, theirs = [], []
    for severity in _SEVERITIES:

      def own(name=name, severity=severity):
        return corruptions.corrupt_batch(
          batch, name, severity, edition=edition, keys=keys
        ).block_until_ready()

      if severity == 1:
        start = time.perf_counter()
        own()
        compile_s += time.perf_counter() - start
      ours.append(_best(own) / len(batch))
      theirs.append(_peer_ms(peer, batch[0], name, severity))
    total, others = total + sum(ours), others + sum(theirs)
    ratios = [t / o for o, t in zip(ours, theirs)]
    slower += [f"{name} {s}" for s, r in zip(_SEVERITIES, ratios) if r < 1]
    print(
      f"{name:18s} ours {_row(ours)}  peer {_row(theirs)}"
      f"  ratio {_row(ratios)}  in draws {_row([o / unit for o in ours])}"
    )
  print(
    f"all severities: ours {total:.1f} ms, peer {others:.1f} ms, ratio"
    f" {others / total:.1f}; first calls (compilation) {compile_s:.0f} s"
  )
  print(f"slower than the peer: {', '.join(slower) or 'none'}")


def _peer_ms(peer, image, name, severity) -> float:
  if peer is None:
    return float("nan")
  try:
    return _best(lambda: peer(image, corruption_name=name, severity=severity))
  except Exception as e:  # the peer's own breakage is a result
    print(f"  the peer cannot run {name}: {type(e).__name__}: {e}")
    return float("nan")


def _pictures(count: int, height: int, width: int) -> np.ndarray:
  """Crops of scikit-learn's two photographs, uint8 `[count, H, W, 3]`."""
  from sklearn import datasets

  rng = np.random.default_rng(0)
  photos = [datasets.load_sample_image(n) for n in ("china.jpg", "flower.jpg")]
  big = [np.tile(p, (2, 2, 1)) for p in photos]
  out = []
  for i in range(count):
    photo = big[i % 2]
    top = rng.integers(0, photo.shape[0] - height)
    left = rng.integers(0, photo.shape[1] - width)
    out.append(photo[top : top + height, left : left + width])
  return np.stack(out)


def _row(values: Sequence[float]) -> str:
  return " ".join(f"{v:6.2f}" for v in values)


if __name__ == "__main__":
  app.run(main)
