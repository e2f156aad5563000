"""The facts that a cell's numbers depend on, in words: facts of its data and model.

Both are stored in the cell's note (`eval/cells/files/note.py`), with its
examples. Comparisons of two cells use them to say what differs; their hashes
say whether anything does. A fact that was not recorded is None, as for predictions
of another program. Nothing is guessed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import pydantic

from eval.cells import provenance
from robust_tfds import conditions, errors
from robust_tfds.records import Record

NONE = "none"
# Source of data, and adapter of models, of which another program made predictions.
ELSEWHERE = "elsewhere"
OWN = "own_corruption"  # a setting: sha256 of the user's file
SHOWN = "shown"  # a setting: what a crop shows of a user's pictures
# A value of a task's own settings.
Scalar = str | int | float | bool | None
Severity = Annotated[int, pydantic.Field(ge=1, le=5)]


class _Facts(Record):
  """Named facts; None is unknown."""

  @property
  def hash(self) -> str:
    """12 hexadecimal digits of a hash of the known facts."""
    return provenance.fingerprint(_known_facts(self.model_dump()))

  @property
  def missing(self) -> list[str]:
    """The names of unknown facts."""
    return [name for name, value in self.words().items() if value is None]

  def words(self) -> dict[str, Any]:
    """Return name -> value, with settings under their own names."""
    out: dict[str, Any] = {}
    for name, value in self.model_dump().items():
      if isinstance(value, Mapping):
        out |= value
      else:
        out[name] = value
    return out


class DataFacts(_Facts):
  """The facts of a cell's data, except its condition and seed.

  Attributes:
    dataset: its name.
    version: version of the TFDS builder.
    config: config of the set that conditions are made from; for prepared sets
      the clean one.
    split: TFDS's name.
    subset: name of the chosen examples; empty for all.
    examples: number of examples of a condition.
    source: `fly` (corrupted in the run), `prepared`, or `elsewhere`
      (predictions of another program without a named run over the same
      pictures).
    codec: codec of the pixels that models see.
    edition: edition of the corruptions; empty if the set has none.
    geometry: rule of the crop; empty for the set's own.
    px: sides (height, width) of the corrupted pictures, px; empty if they vary.
    settings: the task's settings: rules of AP, views and sampling of videos,
      label space.
    metric: version of the definitions of metrics, `provenance.METRICS_VERSION`.
    pixels: version of the pixels, `provenance.PIXELS_VERSION`.
    content: sha256 of the prepared files that were read, or of ids, labels and
      sizes of the sources and bytes of some (`source_notes.digest`). Other files
      may hold the same pixels.
    decoders: the decoders of other programs' files, in words; empty: none. They
      are not in the fingerprint: tested ones give the same pixels, and a run
      goes on after an update. Comparisons report differences.
  """

  dataset: str
  version: str | None = None
  config: str | None = None
  split: str | None = None
  subset: str | None = None
  examples: int | None = None
  source: str | None = None
  codec: str | None = None
  edition: str | None = None
  geometry: str | None = None
  px: list[int] | None = None
  settings: dict[str, Scalar] = pydantic.Field(default_factory=dict)
  metric: int | None = None
  pixels: int | None = None
  content: str | None = None
  decoders: str | None = None


class ModelFacts(_Facts):
  """The facts of a cell's model.

  Attributes:
    name: name in `models`, or `module:function`; empty for a model passed as an
      object.
    weights: sha256 of its variables.
    dtype: the dtype it computes in.
    preprocessing: its spec.
    adapter: the kind of adapter: `jax` for the networks here, `elsewhere` if
      another program ran it.
    code: version of robust_tfds.
    source: module -> sha256 of its file, of a user's own model.
    classes: sha256 of the file that says what its outputs stand for; else empty.
    random: whether repeated calls differ.
    without_output: number of the set's classes that it has no output for.
    trained_on: the data that its weights were trained on, in words.
    corruptions_seen: names of the conditions that it was trained on; empty: none.
    severities_seen: their severities, if disclosed.
    adaptation: how it adapts while it is tested: method, hyperparameters, setting,
      order, batch, seed, further pictures, devices; None: it does not.
    outputs: `probabilities`, or `scores` (each in [0, 1], sums differ), if they
      are not logits.
    prompts: for a zero-shot model, number and sha256 of its templates and of the
      classes' names, and sha256 of their ids.
  """

  name: str | None = None
  weights: str | None = None
  dtype: str | None = None
  preprocessing: dict[str, Any] | None = None
  adapter: str | None = None
  code: str | None = None
  source: dict[str, str] | None = None
  classes: str | None = None
  random: bool | None = None
  without_output: int | None = None
  trained_on: str | None = None
  corruptions_seen: list[str] | None = None
  severities_seen: list[Severity] | None = None
  outputs: str | None = None
  adaptation: dict[str, Scalar] | None = None
  prompts: dict[str, str] | None = None

  @property
  def hash(self) -> str:
    """A hash of all facts but the name, 12 hexadecimal digits."""
    facts = self.model_dump(exclude={"name"})
    return provenance.fingerprint(_known_facts(facts))

  def words(self) -> dict[str, Any]:
    """Return name -> value, including the spec; the last three only if known."""
    out = self.model_dump()
    for name in ("severities_seen", "outputs", "adaptation", "prompts"):
      if out[name] is None:
        del out[name]
    return out


def flatten_spec(words: Mapping[str, Any]) -> dict[str, Any]:
  """Return a model's facts in words, with those of its spec as separate entries.

  >>> flatten_spec({"dtype": "float32", "preprocessing": {"input_px": 32}})
  {'dtype': 'float32', 'preprocessing.input_px': 32}
  """
  rest = {k: v for k, v in words.items() if k != "preprocessing"}
  spec = words.get("preprocessing") or {}
  return rest | {f"preprocessing.{k}": v for k, v in spec.items()}


def fingerprint(
  data: DataFacts, model: ModelFacts, condition: str, seed: int
) -> str:
  """Return the fingerprint of a cell: a hash of all that its numbers depend on."""
  depends = {
    "data": data.model_copy(update={"decoders": None}).hash,
    "model": model.hash,
    "condition": condition,
    "seed": seed,
  }
  return provenance.fingerprint(depends)


def _known_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
  """Return the known facts: a fact added later changes no older cell's hash."""
  return {name: value for name, value in facts.items() if value is not None}


def differences(
  first: Mapping[str, Any], second: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
  """Return the differences of two sets of facts: name -> both values.

  An unknown fact differs from any value.

  >>> differences({"codec": "raw", "n": 5}, {"codec": "jpeg85", "n": 5})
  {'codec': ('raw', 'jpeg85')}
  """
  names = dict.fromkeys((*first, *second))
  return {
    name: (first.get(name), second.get(name))
    for name in names
    if first.get(name) != second.get(name)
  }


def elsewhere_notes(
  named: Iterable[tuple[str, Mapping[str, Any]]],
) -> list[str]:
  """Return a note in a list if another program made some of the predictions.

  Args:
    named: (name, facts of the model in words) of the compared entries.

  >>> elsewhere_notes([("a", {"adapter": "jax"}), ("b", {"adapter": "elsewhere"})])
  ['Another program made the predictions of b: that they are of these pictures \
is a statement of whoever scored them (--facts).']
  """
  names = [name for name, facts in named if facts.get("adapter") == ELSEWHERE]
  if not names:
    return []
  return [
    f"Another program made the predictions of {', '.join(names)}: that they are of"
    " these pictures is a statement of whoever scored them (--facts)."
  ]


def decoder_notes(named: Iterable[tuple[str, Any]]) -> list[str]:
  """Return a note in a list if entries were decoded by different programs.

  Args:
    named: (name, value of `DataFacts.decoders`) of the compared entries.

  >>> decoder_notes([("a", "read with X 1"), ("b", "read with X 2")])
  ['Pixels were decoded by different programs, and a level may differ here and \
there: read with X 1 (a); read with X 2 (b).']
  """
  names: dict[str, list[str]] = {}
  for name, value in named:
    words = "unknown" if value is None else value or "none"
    names.setdefault(str(words), []).append(name)
  if len(names) < 2:
    return []
  listed = "; ".join(f"{k} ({', '.join(v)})" for k, v in names.items())
  return [
    "Pixels were decoded by different programs, and a level may differ here and"
    f" there: {listed}."
  ]


def trained_on(names: Iterable[str], levels: Sequence[int] | None) -> str:
  """Return the conditions that a model was trained on, with severities if known.

  >>> trained_on(["fog", "snow"], [1, 2, 3]), trained_on(["fog"], None)
  ('fog, snow at severity 1, 2, 3', 'fog')
  """
  at = ", ".join(map(str, levels or ()))
  return ", ".join(names) + f" at severity {at}" * bool(at)


def adaptation_words(facts: Mapping[str, Scalar]) -> str:
  """Return how a model adapts, and what its intervals are, in one line.

  >>> adaptation_words({"batch": 64, "method": "tent", "setting": "reset"})
  'tent, setting reset, batch 64; intervals as if pictures were independent'
  """
  names = sorted(facts.keys() - {"method", "setting"})
  rest = [f"{n.replace('_', ' ')} {facts[n]}" for n in ("setting", *names)]
  words = [str(facts["method"]), *rest]
  return f"{', '.join(words)}; intervals as if pictures were independent"


def adaptation_protocol(
  facts: Mapping[str, Scalar] | None,
) -> dict[str, Scalar]:
  """Return the facts that adapted models on one board share; {} of others."""
  shared = (
    "setting",
    "order",
    "delta",
    "shuffle",
    "batch",
    "last_batch",
    "seed",
    "test_twins",
  )
  return {f"adapted_{k}": facts[k] for k in shared if facts and k in facts}


def conditions_seen(names: Sequence[str], what: str) -> list[str]:
  """Return the valid, sorted value of `corruptions_seen`.

  Args:
    names: names of corruptions and perturbations; only `none`, or nothing:
      none.
    what: the origin of the names, for the error.

  Returns:
    The names, sorted and unique.

  Raises:
    UserError: a name that is no corruption or perturbation.
  """
  listed = [name.strip() for name in names]
  if listed in ([], [NONE]):
    return []
  known = conditions.every_name()
  for name in listed:
    if name not in known:
      unknown = errors.unknown_error("corruption", name, known)
      raise errors.UserError(f"{what}: {unknown} Or {NONE!r} alone.")
  return sorted(set(listed))
