"""ImageNet-P's metrics: flip probability, top-5 distance, Zipf distance.

The metrics compare pairs of frames. Temporal perturbations compare frame j with
frame j + d, d the difficulty: n - d pairs of n frames. Noise sequences compare
every frame with the first: n - 1 pairs, whatever the difficulty (which chooses
harder data there). Every pair of a sequence has the same weight, and so has
every sequence.

For a pair let sigma(r) be the rank that the later frame gives to the class of
rank r in the earlier one. With ranks from 1,

  flip              [sigma(1) != 1]
  top-5 distance    sum over i = 1..5 of |min(i - 1, 5) - min(sigma(i) - 1, 5)|
  Zipf distance     sum over i = 1..K of 1/i |1/i - 1/sigma(i)|

Hendrycks & Dietterich 2019, section 3.2 and appendices C, D; directions and
ties as in ImageNet-P/test.py (docs/evidence/specs/imagenet_p.md section 5). The
published normalisers are in `eval/papers/baselines/`.
"""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from eval.metrics import arguments, corruption_error, rates
from robust_tfds import conditions, errors

_TOP = 5  # ranks that the top-5 distance compares
_CHUNK = 1 << 18  # elements: what stays in a core's second-level cache


def flip_probability(
  top1: np.typing.ArrayLike, noise: bool = False, difficulty: int = 1
) -> float:
  """Compute how often the predicted class changes: FP, in [0, 1].

  Args:
    top1: predicted classes, int `[sequences, frames]`.
    noise: compare with the first frame (noise sequences).
    difficulty: distance between the compared frames, 1-3, below their number.

  Raises:
    UserError: a shape or dtype is wrong, there are no sequences, an id is below
      0, the difficulty is not 1-3, or sequences are too short for it.

  >>> flip_probability([[7, 7, 2, 2], [1, 1, 1, 1]])
  0.16666666666666666
  >>> flip_probability([[7, 7, 2, 2], [1, 1, 1, 1]], noise=True)
  0.3333333333333333
  """
  return float(flips(top1, noise, difficulty).mean(axis=1).mean())


def flips(
  top1: np.typing.ArrayLike, noise: bool = False, difficulty: int = 1
) -> np.ndarray:
  """Return whether each pair's predictions differ: `[sequences, pairs]`."""
  classes = _integers("top1", top1, 2)
  if classes.size and classes.min() < 0:
    raise errors.UserError(
      f"top1: classes are numbered from 0, got {classes.min()}. Every frame needs"
      " a prediction."
    )
  earlier, later = _pairs(classes, noise, difficulty)
  return earlier != later


def top5_distance(
  ranked: np.typing.ArrayLike, noise: bool = False, difficulty: int = 1
) -> float:
  """Compute the mean top-5 distance, unnormalised: uT5D, in [0, 15].

  Args:
    ranked: class ids, best first, int `[sequences, frames, >= 5]`; `rank` makes
      them. Only the first five are read.
    noise: compare with the first frame (noise sequences).
    difficulty: distance between the compared frames, 1-3, below their number.

  Raises:
    UserError: as for `flip_probability`, or there are fewer than five classes.

  The eight permutations of the paper's appendix C, as the later frame's ranks
  of the earlier frame's classes 1, 2, ...:

  >>> def distance(*sigma):
  ...   later = np.argsort([*sigma, *range(len(sigma) + 1, 1001)], kind="stable")
  ...   return top5_distance(np.stack([np.arange(1000), later])[None])
  >>> distance()
  0.0
  >>> distance(1, 2, 3, 4, 6, 5, 7, 8)
  1.0
  >>> distance(1, 2, 3, 4, 6, 7, 5, 8)
  1.0
  >>> distance(2, 1, 3, 4, 5, 6)
  2.0
  >>> distance(3, 1, 2, 4, 5, 6)
  4.0
  >>> distance(*range(2, 1001), 1)
  5.0
  >>> distance(1, 2, 3, 5, 6, 4, 7, 8)
  2.0
  >>> distance(5, 4, 3, 2, 1, 6, 7, 8, 9)
  12.0
  """
  return float(top5_distances(ranked, noise, difficulty).mean(axis=1).mean())


def top5_distances(
  ranked: np.typing.ArrayLike, noise: bool = False, difficulty: int = 1
) -> np.ndarray:
  """Compute the distance of every pair: int64 `[sequences, pairs]`, 0..15."""
  checked = _integers("ranked", ranked, 3)
  if checked.shape[2] < _TOP or checked.shape[2] and checked.min() < 0:
    raise errors.UserError(
      f"The top-5 distance needs at least {_TOP} classes a frame, got"
      f" {checked.shape[2]} (ids below 0 pad what is not there). Report the"
      " flip probability alone for models of fewer classes."
    )
  top = checked[..., :_TOP]
  _check_ranked_once(top)
  earlier, later = _pairs(top, noise, difficulty)
  total = np.zeros(
    np.broadcast_shapes(earlier.shape, later.shape)[:2], np.int64
  )
  for i in range(_TOP):
    place = np.full(total.shape, _TOP, np.int8)
    for j in range(_TOP):  # at most one j is equal: classes occur once
      place -= (earlier[..., i] == later[..., j]) * np.int8(_TOP - j)
    total += np.abs(place - i)
  return total


def zipf_distance(
  ranked_all: np.typing.ArrayLike, noise: bool = False, difficulty: int = 1
) -> float:
  """Compute the mean Zipf distance over the whole ranking.

  Args:
    ranked_all: class ids, best first, int `[sequences, frames, K]`, each frame a
      permutation of 0..K-1.
    noise: compare with the first frame (noise sequences).
    difficulty: distance between the compared frames, 1-3, below their number.

  Raises:
    UserError: as for `flip_probability`, or a frame is no permutation.

  >>> zipf_distance([[[0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 4, 5]]])
  0.75
  """
  return float(
    zipf_distances(ranked_all, noise, difficulty).mean(axis=1).mean()
  )


def zipf_distances(
  ranked_all: np.typing.ArrayLike, noise: bool = False, difficulty: int = 1
) -> np.ndarray:
  """Compute the Zipf distance of every pair: float64 `[sequences, pairs]`."""
  ids = _integers("ranked_all", ranked_all, 3)
  weight = 1 / np.arange(1, ids.shape[2] + 1)
  out = []
  for part in _chunks(ids):
    place = _places(part)  # [sequences, frames, K]: the rank of each class
    earlier, _ = _pairs(part, noise, difficulty)
    _, later = _pairs(place, noise, difficulty)
    earlier = np.broadcast_to(earlier, later.shape)
    sigma = np.take_along_axis(later, earlier, axis=2)
    out.append(np.abs(weight - weight[sigma]) @ weight)
  return np.concatenate(out)


def rank(logits: np.typing.ArrayLike, k: int | None = None) -> np.ndarray:
  """Rank class ids by decreasing logit, ties by the lower id.

  Args:
    logits: `[..., K]`, compared as float32; no NaN.
    k: number of best classes; None: all K.

  Returns:
    int32 `[..., k]`.

  Raises:
    UserError: a logit is NaN, beyond float32 or no number, there are no
      classes, or k is not between 1 and the number of classes.

  >>> rank([[1.0, 3.0, 3.0, 2.0]])
  array([[1, 2, 3, 0]], dtype=int32)
  """
  values = _logits(logits)
  classes = values.shape[-1]
  count = classes if k is None else arguments.whole_number("k", k, 1)
  if count > classes:
    raise errors.UserError(
      f"k must be at most the number of classes, {classes}; got {count}."
    )
  rows = values.reshape(-1, classes)
  out = np.empty((len(rows), count), np.int32)
  step = max(1, _CHUNK // classes)
  for start in range(0, len(rows), step):
    part = rows[start : start + step]
    best = _best if count <= 2 * _TOP else _sorted
    out[start : start + step] = best(part, count)
  return out.reshape(*values.shape[:-1], count)


def normalised(
  number: np.typing.ArrayLike, baseline: np.typing.ArrayLike
) -> np.ndarray:
  """Normalise flip probabilities to flip rates, or uT5D to T5D.

  FR = FP / FP of the baseline, T5D = uT5D / uT5D of the baseline: Hendrycks &
  Dietterich 2019, section 3.2.

  Args:
    number: FP or uT5D, `[...]`.
    baseline: the baseline's number, of a broadcastable shape.

  Returns:
    `[...]`; 1.0 is as stable as the baseline, nan where the baseline's is 0.

  >>> normalised([0.1, 0.1], [0.2, 0.0])
  array([0.5, nan])
  """
  return rates.ratio(number, baseline)


def summarize(
  fp: Mapping[str, float],
  ut5d: Mapping[str, float],
  baseline: str | Mapping[str, Mapping[str, float]] = "alexnet",
) -> dict:
  """Compute flip rate, T5D and their means over the benchmark, normalised.

  mFR and mT5D are means over the 10 common perturbations of FR and T5D, see
  `normalised`.

  Args:
    fp: perturbation -> flip probability in [0, 1].
    ut5d: perturbation -> unnormalised top-5 distance in [0, 15]; may be empty.
    baseline: a name in `eval/papers/baselines/`, or `{"flip_probability": {name: fp},
      "unnormalised_t5d": {name: ut5d}}`.

  Returns:
    `fr` and `t5d`, dicts by name, without your own perturbations that are
    missing from the baseline; `mfr` and `mt5d`, nan if one of the 10 is
    missing; `missing`, these. 1.0 is as stable as the baseline.

  Raises:
    UserError: a perturbation or baseline is unknown (with a suggestion), a
      number is out of range, or a perturbation is missing from the baseline.

  >>> ten = {name: 0.1 for name in conditions.SEQUENCES.names("common")}
  >>> half = {name: 0.05 for name in ten}
  >>> other = {"flip_probability": half, "unnormalised_t5d": ten}
  >>> result = summarize(ten, ten, other)
  >>> result["mfr"], result["mt5d"]
  (2.0, 1.0)
  """
  reference = corruption_error.reference_of(
    baseline, ("flip_probability", "unnormalised_t5d")
  )
  if not arguments.mapping("fp", fp):
    raise errors.UserError(
      "fp is empty: perturbation -> flip probability expected."
    )
  fr = _ratios("flip probability", fp, reference["flip_probability"], 1)
  t5d = _ratios("uT5D", ut5d, reference["unnormalised_t5d"], 15)
  return {
    "fr": fr,
    "t5d": t5d,
    "mfr": _mean_of_common(fr),
    "mt5d": _mean_of_common(t5d),
    "missing": [n for n in conditions.SEQUENCES.names("common") if n not in fr],
  }


def _pairs(
  values: np.ndarray, noise: bool, difficulty: int
) -> tuple[np.ndarray, np.ndarray]:
  """Return (earlier, later) along axis 1, broadcastable against each other."""
  frames = values.shape[1]
  distance = conditions.whole_number(difficulty)
  if distance not in conditions.DIFFICULTIES:
    raise errors.UserError(
      "difficulty is 1, 2 or 3 (Hendrycks & Dietterich 2019, section 3.2), got"
      f" {difficulty!r}."
    )
  if arguments.flag("noise", noise):
    if frames < 2:
      raise errors.UserError(
        f"A sequence needs two frames at least, got {frames}."
      )
    return values[:, :1], values[:, 1:]
  if distance >= frames:
    raise errors.UserError(
      f"difficulty {distance} needs sequences of more than {distance} frames, got"
      f" {frames}."
    )
  return values[:, :-distance], values[:, distance:]


def _integers(name: str, values: np.typing.ArrayLike, ndim: int) -> np.ndarray:
  out = arguments.array(name, values)
  if out.ndim != ndim or not np.issubdtype(out.dtype, np.integer):
    axes = ["sequences", "frames", "classes"][:ndim]
    raise errors.UserError(
      f"{name}: an integer array [{', '.join(axes)}] expected, got {out.dtype}"
      f" {list(out.shape)}."
    )
  if not len(out):
    raise errors.UserError(f"{name}: no sequences given.")
  return out


def _logits(values: object) -> np.ndarray:
  """Return logits as float32 `[..., K]`, after checks."""
  given = arguments.array("logits", values)
  if not given.ndim or not given.shape[-1] or given.dtype.kind in "bcmMOSU":
    raise errors.UserError(
      "logits must be numbers [..., classes], at least one class; got"
      f" {given.dtype}{list(given.shape)}."
    )
  if given.dtype == np.float32:
    return given
  with np.errstate(over="ignore"):
    out = given.astype(np.float32)
  if (np.isinf(out) & np.isfinite(given)).any():
    raise errors.UserError(
      "logits are compared as float32, and some lie beyond its range"
      f" ({np.finfo(np.float32).max:.2g})."
    )
  return out


def _check_ranked_once(top: np.ndarray) -> None:
  """Refuse frames that rank a class twice."""
  twice = np.zeros(top.shape[:2], bool)
  for i in range(1, top.shape[2]):
    for j in range(i):
      twice |= top[..., i] == top[..., j]
  if twice.any():
    row, frame = np.argwhere(twice)[0].tolist()
    raise errors.UserError(
      f"ranked, sequence {row}, frame {frame}: a class is ranked twice, got"
      f" {top[row, frame].tolist()}; each must occur once."
    )


def _places(ids: np.ndarray) -> np.ndarray:
  """Return the inverse permutations; refuses anything that is no permutation."""
  classes = ids.shape[2]
  if ids.min() < 0 or ids.max() >= classes:
    raise errors.UserError(
      f"ranked_all: every frame must rank the classes 0..{classes - 1}, got"
      f" {ids.min()}..{ids.max()}."
    )
  place = np.full(ids.shape, -1, np.int32)
  positions = np.broadcast_to(np.arange(classes, dtype=np.int32), ids.shape)
  np.put_along_axis(place, ids, positions, axis=2)
  if (place < 0).any():
    raise errors.UserError(
      "ranked_all: a frame ranks a class twice; each must occur once."
    )
  return place


def _chunks(values: np.ndarray) -> Iterator[np.ndarray]:
  step = max(1, _CHUNK // values[0].size)
  for start in range(0, len(values), step):
    yield values[start : start + step]


def _best(values: np.ndarray, k: int) -> np.ndarray:
  """Rank the best few by repeated argmax, which takes the first of equals."""
  left = values.copy()
  out = np.empty((len(left), k), np.int32)
  rows = np.arange(len(left))
  for i in range(k):
    out[:, i] = left.argmax(axis=1)
    if i == 0 and np.isnan(left[rows, out[:, 0]]).any():
      raise errors.UserError(_NAN)  # argmax finds a NaN first
    left[rows, out[:, i]] = -np.inf
  if k > 1 and np.isneginf(left[rows, out[:, k - 1]]).any():
    lowest = np.isneginf(values).sum(axis=1) + k > values.shape[1]
    if lowest.any():  # -inf logits among the best: equals of the marks
      out[lowest] = _sorted(values[lowest], k)
  return out


def _sorted(values: np.ndarray, k: int) -> np.ndarray:
  """Rank all classes by one sort of (inverted float bits, class id) as uint64."""
  if np.isnan(values).any():
    raise errors.UserError(_NAN)
  bits = (-values + np.float32(0)).view(np.int32)  # -0.0 equals 0.0
  order = np.where(bits < 0, ~bits, bits ^ np.int32(-(2**31))).view(np.uint32)
  key = order.astype(np.uint64) << np.uint64(32)
  key |= np.arange(values.shape[1], dtype=np.uint64)
  key.sort(axis=1)
  return (key[:, :k] & np.uint64(0xFFFFFFFF)).astype(np.int32)


_NAN = "NaN logits cannot be ranked. Check the checkpoint and the dtype."


def _ratios(
  what: str,
  ours: Mapping[str, float],
  baseline: Mapping[str, float],
  highest: float,
) -> dict[str, float]:
  out = {}
  theirs = arguments.mapping(f"the baseline's {what}", baseline)
  for name, value in arguments.mapping(what, ours).items():
    row = conditions.SEQUENCES.row(name)  # refuses unknown names
    number = arguments.fraction(f"{name}: the {what}", value, highest)
    if name not in baseline and row.set == "own":
      continue
    if name not in baseline:
      raise errors.UserError(
        f"The baseline has no {what} for {name}; give it, or leave {name} out."
      )
    divisor = arguments.fraction(
      f"{name}: the baseline's {what}", theirs[name], highest
    )
    out[name] = float(normalised(number, divisor))
  return out


def _mean_of_common(values: Mapping[str, float]) -> float:
  common = conditions.SEQUENCES.names("common")
  if any(n not in values for n in common):
    return math.nan
  return float(np.mean([values[n] for n in common]))
