"""Corruption error: CE, mCE and their relative forms.

Hendrycks & Dietterich 2019, section 4.1; docs/evidence/specs/imagenet_p.md section 5.
With E_{s,c} the top-1 error at severity s of corruption c:

  CE_c          = sum_s E_{s,c} / sum_s B_{s,c}
  relative CE_c = sum_s (E_{s,c} - E_clean) / sum_s (B_{s,c} - B_clean)

for a baseline B (AlexNet in the paper): `ce` and `relative_ce`. mCE and
relative mCE are means over the 15 common corruptions; the 4 extra ones and
corruptions of your own never enter. The plain mean of E has its own name,
`mean_error`, because papers mix them up.
"""

import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.metrics import arguments, rates
from robust_tfds import conditions, reading
from robust_tfds import errors as errors_lib

SAME_RUN = "evaluated in the same run"  # source of a baseline, in words
_SEVERITIES = len(conditions.SEVERITIES)
# Rounding of the excess of equal rates stays below; one example of 10 million
# is above.
_ZERO = 1e-9
_FOLDER = pathlib.Path(__file__).resolve().parents[1] / "papers" / "baselines"


def ce(
  errors: np.typing.ArrayLike, baseline: np.typing.ArrayLike
) -> np.ndarray:
  """Compute CE of a corruption: Hendrycks & Dietterich 2019, section 4.1.

  Args:
    errors: top-1 errors `[severities, ...]`, fractions.
    baseline: the baseline's errors, of a broadcastable shape.

  Returns:
    `[...]`; 1.0 is as good as the baseline, nan where the baseline's are all 0.

  >>> float(ce([0.25, 0.75], [0.25, 0.25]))
  2.0
  """
  ours, theirs = (np.asarray(e).mean(axis=0) for e in (errors, baseline))
  return rates.ratio(ours, theirs, _ZERO)


def relative_ce(
  errors: np.typing.ArrayLike,
  clean_error: np.typing.ArrayLike,
  baseline: np.typing.ArrayLike,
  baseline_clean: np.typing.ArrayLike,
) -> np.ndarray:
  """Compute the relative CE of a corruption: Hendrycks & Dietterich 2019, section 4.1.

  Args:
    errors: top-1 errors `[severities, ...]`, fractions.
    clean_error: error on clean images, `[...]`.
    baseline: the baseline's errors.
    baseline_clean: the baseline's error on clean images.

  Returns:
    `[...]`; nan where corruption does not raise the baseline's error.

  >>> float(relative_ce([0.25, 0.75], 0.25, [0.5, 0.5], 0.25))
  1.0
  """
  ours, theirs = (
    np.asarray(e).mean(axis=0) - np.asarray(clean)
    for e, clean in ((errors, clean_error), (baseline, baseline_clean))
  )
  return rates.ratio(ours, theirs, _ZERO)


def summarize(
  errors: Mapping[str, Sequence[float]],
  clean_error: float,
  baseline: str | Mapping = "alexnet",
) -> dict:
  """Compute all corruption errors of one model.

  Args:
    errors: name -> top-1 errors at severities 1-5, fractions in [0, 1].
    clean_error: top-1 error on clean images, a fraction.
    baseline: a name in `eval/papers/baselines/`, or `{"errors": {name: [5]},
      "clean_error": float}`.

  Returns:
    `ce` and `relative_ce`, dicts by name, without corruptions of your own that
    the baseline lacks; `mce` and `relative_mce`, over the 15
    common corruptions alone, nan where one of them is missing; `mean_error`, the
    plain mean over the common corruptions given; `missing`, the common ones not
    given. Fractions of the baseline's: 1.0 is as good as the baseline.

  Raises:
    UserError: there are no errors, a corruption or baseline is unknown (with a
      suggestion), the number of severities is not 5, an error is NaN or outside
      [0, 1], or a corruption is missing from the baseline.

  >>> common = conditions.PICTURES.names("common")
  >>> flat = {name: [0.5] * 5 for name in common}
  >>> half = {"errors": {n: [0.25] * 5 for n in common}, "clean_error": 0.05}
  >>> result = summarize(flat, 0.1, half)
  >>> result["mce"], round(result["relative_mce"], 12), result["mean_error"]
  (2.0, 2.0, 0.5)
  """
  ours = _errors_by_name("errors", errors)
  if not ours:
    raise errors_lib.UserError("errors is empty: name -> five errors expected.")
  clean = arguments.fraction("clean_error", clean_error)
  reference = reference_of(baseline, ("errors", "clean_error"))
  theirs = _errors_by_name("the baseline's errors", reference["errors"])
  theirs_clean = arguments.fraction(
    "the baseline's clean_error", reference["clean_error"]
  )
  names = _normalised(ours, theirs)
  by_name = {n: float(ce(ours[n], theirs[n])) for n in names}
  relative = {
    n: float(relative_ce(ours[n], clean, theirs[n], theirs_clean))
    for n in names
  }
  common = conditions.PICTURES.names("common")
  missing = [n for n in common if n not in ours]
  present = [n for n in common if n in ours]
  return {
    "ce": by_name,
    "relative_ce": relative,
    "mce": _mean([by_name[n] for n in present]) if not missing else math.nan,
    "relative_mce": (
      _mean([relative[n] for n in present]) if not missing else math.nan
    ),
    "mean_error": _mean([_mean(ours[n]) for n in present]),
    "missing": missing,
  }


def baselines() -> tuple[str, ...]:
  """Return the names of the published baselines."""
  return tuple(sorted(p.stem for p in _FOLDER.glob("*.json")))


def load_baseline(name: str) -> dict:
  """Return a published baseline: `errors`, `clean_error`, `name`, `source`, ...

  Raises:
    UserError: the baseline is unknown; the message suggests the nearest.
  """
  if not isinstance(name, str) or name not in baselines():
    raise errors_lib.unknown_error("baseline", name, baselines())
  return reading.json_file(_FOLDER / f"{name}.json")


def reference_of(baseline: object, needed: Sequence[str]) -> Mapping[str, Any]:
  """Return a baseline's numbers: a published one's by name, or the given ones.

  Args:
    baseline: a name, or a dict.
    needed: the required keys.

  Raises:
    UserError: the name is unknown (with a suggestion), or a key is missing.
  """
  if isinstance(baseline, str):
    return load_baseline(baseline)
  given = arguments.mapping("baseline", baseline)
  for key in needed:
    if key not in given:
      raise errors_lib.UserError(
        f"baseline: {key!r} is missing; a baseline has {', '.join(needed)}, got"
        f" {', '.join(map(str, given)) or 'nothing'}."
      )
  return given


def describe(name: str) -> str:
  """Describe a baseline with its source, for captions."""
  if not name:
    return "none: plain means only"
  if name.startswith("model:"):
    return f"{name.removeprefix('model:')}, {SAME_RUN}"
  baseline = load_baseline(name)
  return f"{baseline['name']} ({baseline['source']})"


def _normalised(
  ours: Mapping[str, object], reference: Mapping[str, object]
) -> list[str]:
  """Return our corruptions that the baseline has.

  Only users' own may be missing from it.
  """
  lacking = [n for n in ours if n not in reference]
  published = sorted(
    n for n in lacking if conditions.PICTURES.row(n).set != "own"
  )
  if published:
    raise errors_lib.UserError(
      f"The baseline has no errors for {', '.join(published)}; give them, or"
      " leave these corruptions out."
    )
  return [n for n in ours if n in reference]


def _errors_by_name(what: str, errors: object) -> dict[str, list[float]]:
  """Return the five errors of each name, after checks."""
  return {n: _five(n, e) for n, e in arguments.mapping(what, errors).items()}


def _five(name: str, errors: object) -> list[float]:
  conditions.PICTURES.row(name)  # refuses unknown names
  listed = arguments.elements(errors)
  if listed is None:
    raise errors_lib.UserError(
      f"{name}: a list of the errors at severities 1-5 expected, got {errors!r}."
    )
  if len(listed) != _SEVERITIES:
    raise errors_lib.UserError(
      f"{name}: {_SEVERITIES} severities expected, got {len(listed)}."
    )
  return [
    arguments.fraction(f"{name}, severity {i}", e)
    for i, e in enumerate(listed, 1)
  ]


def _mean(values: Sequence[float]) -> float:
  return float(np.mean(values)) if len(values) else math.nan
