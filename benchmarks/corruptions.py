"""Our corruptions beside three peers, in one process on one core.

  python -m venv peers
  peers/bin/pip install -e . imagecorruptions corrupt-tta==0.1.7 'setuptools<81'
  peers/bin/python -m benchmarks.corruptions --size=224
  peers/bin/python -m benchmarks.corruptions --size=480,640
  peers/bin/python -m benchmarks.corruptions --names=c_bar --c_bar_code=CLONE

The peers are imagecorruptions 1.1.2 (detection's ImageNet-C code) and corrupt-tta
0.1.7 (a rewrite in numpy and OpenCV), and for the C-bar corruptions their authors'
functions: a clone of facebookresearch/augmentation-corruption, with their scipy and
scikit-image. None is needed by this project nor installed by it; one that is not
there is not measured. corrupt-tta returns floats in
most cells: their conversion to bytes is not counted against it.

Prints, per corruption and severity, our ms per image (a batch of 32, warm), each
peer's, the ratios, and our time in units of one draw of 150,528 normals (numpy's
PCG64, float32) measured in the same run; then sums over all cells, what is slower
than a peer, and our compile times. Ours and the peers' calls alternate and the
least CPU time of each counts. Times on shared machines are noisy: read the ratios.
"""

from __future__ import annotations

import functools
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from absl import app, flags

from robust_tfds import conditions

if TYPE_CHECKING:
  import jax

_SIZE = flags.DEFINE_list("size", ["224", "224"], "Height and width, px.")
_BATCH = flags.DEFINE_integer("batch", 32, "Images a call of ours.")
_ROUNDS = flags.DEFINE_integer("rounds", 3, "Calls of each that are timed.")
_PEER_IMAGES = flags.DEFINE_integer(
  "peer_images", 4, "Images of the batch that the peers get; their mean counts."
)
_NAMES = flags.DEFINE_string("names", "all", "Which corruptions.")
_FROST = flags.DEFINE_string("frost_dir", "", "Folder of the frost pictures.")
_C_BAR = flags.DEFINE_string(
  "c_bar_code", "", "Clone of the C-bar authors' code."
)
_AUTHORS = "authors of C-bar"
_BREAK_S = 0.02  # between calls
# (image uint8 [H, W, 3], name, severity) -> picture
Peer = Callable[[np.ndarray, str, int], object]


def main(argv: Sequence[str]) -> None:
  """Measure and print."""
  del argv
  os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
  warnings.simplefilter("ignore")
  peers = _peers()
  from robust_tfds.corruptions import frost_pictures

  if _FROST.value:
    frost_pictures.use_folder(_FROST.value)
  height, width = (int(n) for n in (_SIZE.value * 2)[:2])
  batch = _pictures(_BATCH.value, height, width)
  edition = "imagenet" if (height, width) == (224, 224) else "any"
  rng = np.random.default_rng(0)
  draw = functools.partial(rng.standard_normal, 150528, dtype=np.float32)
  unit = min(_ms(draw) for _ in range(20))
  print(
    f"{height}x{width}, edition {edition}, one core; 150,528 normals {unit:.2f} ms"
  )
  cells, compile_s = [], 0.0
  for name in conditions.PICTURES.resolve(_NAMES.value):
    bar = conditions.PICTURES.row(name).set == "c_bar"
    of_name = {k: p for k, p in peers.items() if (k == _AUTHORS) == bar}
    start = time.perf_counter()
    _own(batch, name, 1, edition, _keys(len(batch)))
    compile_s += time.perf_counter() - start
    rows = [
      _cell(batch, name, severity, edition, of_name)
      for severity in conditions.SEVERITIES
    ]
    _print_corruption(name, rows, unit)
    cells += [(f"{name} {s}", r) for s, r in zip(conditions.SEVERITIES, rows)]
  _print_sums(cells, list(peers))
  print(f"first calls (compilation) {compile_s:.0f} s")


def _peers() -> dict[str, Peer]:
  """Return the installed peers by name."""
  out = {}
  for name, load in (
    ("imagecorruptions", imagecorruptions_peer),
    ("corrupt-tta", _corrupt_tta),
    (_AUTHORS, _c_bar_authors),
  ):
    try:
      out[name] = load()
    except ImportError as e:
      print(f"{name}: not measured ({e}). See the header of {__file__}.")
  return out


def imagecorruptions_peer() -> Peer:
  """Return its `corrupt`, mended where new scikit-image and numpy broke it."""
  import skimage.filters

  gaussian = skimage.filters.gaussian

  def mended(
    image: np.ndarray, *args: Any, multichannel: bool = False, **kwargs: Any
  ) -> np.ndarray:
    if multichannel:
      kwargs["channel_axis"] = -1
    return gaussian(image, *args, **kwargs)

  skimage.filters.gaussian = mended
  np.float_ = np.float64
  try:
    import imagecorruptions
    from imagecorruptions import corruptions as functions
  finally:
    skimage.filters.gaussian = gaussian
  functions.gaussian = mended
  return lambda image, name, severity: imagecorruptions.corrupt(
    image, corruption_name=name, severity=severity
  )


def _corrupt_tta() -> Peer:
  import corrupt_tta

  return lambda image, name, severity: corrupt_tta.corrupt(
    image, corruption_name=name, severity=severity
  )


def _c_bar_authors() -> Peer:
  """Return the authors' transforms at the real severities of ours."""
  sys.path.insert(0, f"{_C_BAR.value}/imagenet_c_bar")
  vars(np).setdefault("int", int)  # gone since NumPy 1.24
  from transform_finder import build_transform

  from robust_tfds.corruptions import plugins

  def transform(image: np.ndarray, name: str, severity: int) -> object:
    value = plugins.picture(name).severities["imagenet"][severity - 1]
    run = build_transform(name=name, severity=value, dataset_type="imagenet")
    return run(image)

  return transform


def _cell(
  batch: np.ndarray,
  name: str,
  severity: int,
  edition: str,
  peers: Mapping[str, Peer],
) -> dict[str, float]:
  """Return the ms per image of ours ("") and of every peer, their calls alternating."""

  def of_peer(peer: Peer) -> None:
    for image in batch[: _PEER_IMAGES.value]:
      peer(image, name, severity)

  keys = _keys(len(batch))
  calls = {"": functools.partial(_own, batch, name, severity, edition, keys)}
  calls |= {k: functools.partial(of_peer, p) for k, p in peers.items()}
  images = {k: min(_PEER_IMAGES.value, len(batch)) for k in peers} | {
    "": len(batch)
  }
  times = dict.fromkeys(calls, float("inf"))
  for turn in range(1 + _ROUNDS.value):
    for label, call in calls.items():
      try:
        took = _ms(call) / images[label]
      except Exception as e:  # a peer's own breakage is a result
        if not label:
          raise
        took = float("nan")
        if not turn:
          print(f"  {label} cannot run {name}: {type(e).__name__}: {e}")
      if turn:  # the first is not counted
        times[label] = min(times[label], took) if took == took else took
      time.sleep(_BREAK_S)
  return times


def _own(
  batch: np.ndarray, name: str, severity: int, edition: str, keys: jax.Array
) -> None:
  import jax

  from robust_tfds import corruptions

  jax.block_until_ready(
    corruptions.corrupt_batch(batch, name, severity, edition=edition, keys=keys)
  )


@functools.cache
def _keys(count: int) -> jax.Array:
  """Return one key per image, on the device."""
  import jax

  ids = [str(i) for i in range(count)]
  return jax.numpy.asarray(conditions.raw_keys(0, "bench", "x", 1, ids))


def _ms(call: Callable[[], object]) -> float:
  """Return the CPU time of one call in ms: other processes do not count."""
  start = time.process_time()
  call()
  return 1e3 * (time.process_time() - start)


def _print_corruption(
  name: str, rows: Sequence[Mapping[str, float]], unit: float
) -> None:
  ours = [r[""] for r in rows]
  print(
    f"{name:18s} {'ours':16s} {_row(ours)}  in draws {_row(o / unit for o in ours)}"
  )
  for peer in list(rows[0])[1:]:
    ratios = (r[peer] / r[""] for r in rows)
    print(
      f"{'':18s} {peer:16s} {_row(r[peer] for r in rows)}  ratio    {_row(ratios)}",
      flush=True,
    )


def _print_sums(
  cells: Sequence[tuple[str, Mapping[str, float]]], peers: Sequence[str]
) -> None:
  print(f"{len(cells)} cells: ours {sum(c[''] for _, c in cells):.1f} ms")
  for peer in peers:
    # A cell that the peer cannot run counts for neither.
    both = [(n, c) for n, c in cells if c.get(peer, np.nan) == c.get(peer)]
    if not both:
      continue
    theirs = sum(c[peer] for _, c in both)
    ratio = theirs / sum(c[""] for _, c in both)
    slower = [
      f"{n} ({c[peer] / c['']:.2f})" for n, c in both if c[peer] < c[""]
    ]
    print(
      f"{peer}: {len(both)} cells {theirs:.1f} ms, ratio {ratio:.1f}; it is faster"
      f" in {', '.join(slower) or 'none'}"
    )


def _pictures(count: int, height: int, width: int) -> np.ndarray:
  """Return crops of scikit-learn's two photographs, uint8 `[count, H, W, 3]`."""
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


def _row(values: Iterable[float]) -> str:
  return " ".join(f"{v:6.2f}" for v in values)


if __name__ == "__main__":
  app.run(main)
