"""`config.adapt`: the settings of models that adapt while they are tested.

Each model of the run then stands in it twice: as it is, and adapting
(`resnet50`, `resnet50 tent`), shown the same pictures.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import pydantic

from eval.pipeline import streams
from models import adaptation
from models.adaptation import base
from robust_tfds import errors, settings
from robust_tfds.conditions import Condition

SMALL_PX, _SMALL_BATCH, _BATCH = 32, 200, 64
_LEVEL = 5  # of streams, which have one
TEST = "test"  # of `clean`: the clean twins of the test pictures
_UNNAMED: Any = None
_Setting = Annotated[
  streams.Setting,
  pydantic.Field(description=f"one of {', '.join(streams.SETTINGS)}"),
]
_Order = Annotated[
  int | None,
  pydantic.Field(ge=0, le=9, description="CoTTA's orders 0 to 9, or None"),
]
_Last = Annotated[
  Literal["keep", "drop"], pydantic.Field(description="'keep' or 'drop'")
]
_Reset = Annotated[
  Literal["method", "new"], pydantic.Field(description="'method' or 'new'")
]
_Given = Annotated[
  dict[str, Any], pydantic.Field(description="the method's hyperparameters")
]


class Adapt(settings.Group):
  """The adaptation settings of one model.

  Attributes:
    method: a name of `models.adaptation.names()`.
    setting: where the state begins anew, and what a stream is:
      `pipeline/streams.py`.
    batch_size: pictures of a batch, also of the run's; 0: 200 for pictures up to
      32 px, else 64.
    order: of the domains of a stream: CoTTA's orders 0 to 9; None: the papers'.
    seed: of the pictures' order and of what methods draw.
    seeds: so many runs of the model, with `seed`, `seed + 1`, ...
    last_batch: `keep` a smaller last batch, or `drop` its pictures from the run.
    shuffle: False: in the order of the set, which class folders sort by class.
    delta: of `correlated`, Dirichlet's: the smaller, the more pictures of one
      class follow each other.
    reset: `method`: between conditions the method's own reset, as in its authors'
      code; `new`: a new state.
    clean: clean pictures for methods that need some, `DATASET:SPLIT`, or `test`:
      the clean twins of the test pictures, which is marked.
    clean_examples: how many of them.
    hyperparameters: of the method; what is left out is the papers'.
    beside: further methods, each of which the models adapt by too.
    run: values of the run's config that replace its own where it adapts.
    source: label of the model that does not adapt, beside which it stands.
  """

  method: settings.Name = _UNNAMED
  setting: _Setting = "reset"
  batch_size: settings.From0 = 0
  order: _Order = None
  seed: settings.Seed = 0
  seeds: settings.Positive = 1
  last_batch: _Last = "keep"
  shuffle: settings.Flag = True
  delta: settings.Rate = 0.1
  reset: _Reset = "method"
  clean: settings.Text = ""
  clean_examples: settings.Positive = 2000
  hyperparameters: _Given = {}
  beside: settings.Text = ""
  run: _Given = {}
  source: settings.Text = ""

  @property
  def stream(self) -> streams.Stream:
    """The order in which pictures come."""
    return streams.Stream(
      self.setting,
      self.order,
      self.seed,
      self.shuffle,
      float(self.delta) if self.setting == "correlated" else None,
    )

  @property
  def is_sequential(self) -> bool:
    """Whether a model goes through its conditions one after the other.

    Under `reset` those do whose own reset keeps something, and those whose states
    are too large to have one a condition.
    """
    if self.setting in streams.SEQUENTIAL:
      return True
    aside = adaptation.get(self.method).side_by_side
    return self.setting == "reset" and not aside

  def facts(self) -> dict[str, str | int | float | bool | None]:
    """Return the facts of a model's cells that its numbers depend on."""
    given = sorted(self.hyperparameters.items())
    flat = {k: v for k, v in given if k != "optimizer"}
    facts: dict[str, Any] = {
      "method": self.method,
      **flat,
      "setting": self.setting,
      "batch": self.batch_size,
      "last_batch": self.last_batch,
      "seed": self.seed,
    }
    if self.setting in streams.SEQUENTIAL:
      facts["order"] = "papers'" if self.order is None else self.order
    if self.setting == "correlated":
      facts["delta"] = float(self.delta)
    if not self.shuffle:
      facts["shuffle"] = False
    if self.reset != "method":
      facts["reset"] = self.reset
    return facts


def merged(values: Mapping[str, Any]) -> dict[str, Any]:
  """Return a run's values with those of `adapt.run`, if it adapts."""
  adapt = values.get("adapt") or {}
  if isinstance(adapt, str):
    return dict(values)
  if not adapt.get("method"):
    if "setting" in adapt or "method" not in adapt and adapt:
      raise _missing_method_error()
    return {k: v for k, v in values.items() if k != "adapt"}
  return _replaced(values, adapt.get("run") or {})


def _missing_method_error() -> errors.UserError:
  return errors.UserError(
    "config.adapt.method: missing, expected one of"
    f" {', '.join(adaptation.names())}."
  )


def _replaced(old: Any, new: Any) -> Any:
  """Return values with others in their places; models all together."""
  if not isinstance(old, Mapping) or not isinstance(new, Mapping):
    return new
  whole = {k: new[k] for k in new if k not in old or k == "models"}
  rest = {k: _replaced(v, new[k]) if k in new else v for k, v in old.items()}
  return {**rest, **whole}


def defaults(groups: Sequence[str]) -> dict[str, Any]:
  """Return the keys below `config.adapt` that a command may set.

  Args:
    groups: names that lead to them, `adapt` first.
  """
  if len(groups) == 1:
    return {k: v for k, v in settings.defaults(Adapt).items() if k != "source"}
  if list(groups[1:]) == ["hyperparameters"]:
    kinds = [adaptation.get(name) for name in adaptation.names()]
    return {k: v for kind in kinds for k, v in _placeholders(kind).items()}
  if list(groups[1:]) == ["hyperparameters", "optimizer"]:
    return _placeholders(base.Optimizer)
  return {}


def _placeholders(kind: type) -> dict[str, Any]:
  hints = typing.get_type_hints(kind)
  return {
    f.name: settings.placeholder(hints[f.name])
    for f in dataclasses.fields(kind)
    if f.name not in ("model", "optimizer")
  }


def parsed(value: Any, px: int) -> Adapt | None:
  """Return the parsed settings; None if there are none.

  Args:
    value: a method's name, or keys of `Adapt`.
    px: side of the pictures; 0 if they differ.

  Raises:
    UserError: begins with the key, `config.adapt.seed: got -1, ...`.
  """
  if not value:
    return None
  values = {"method": value} if isinstance(value, str) else value
  if not isinstance(values, Mapping):
    raise errors.UserError(
      f"adapt: got {value!r}, expected a method's name, or a dict of"
      f" {', '.join(Adapt.model_fields)}."
    )
  values = {k: v for k, v in settings.plain(values).items() if v is not None}
  adapt = settings.validated(Adapt, values, "config.adapt")
  if not adapt.method:
    raise _missing_method_error()
  for key, used in (
    ("order", adapt.setting in streams.SEQUENTIAL),
    ("delta", adapt.setting == "correlated"),
  ):
    if not used and getattr(adapt, key) != Adapt.model_fields[key].default:
      raise errors.UserError(
        f"config.adapt.{key}: got {getattr(adapt, key)}, which the setting"
        f" {adapt.setting} has no use for. Leave it out, or choose another setting."
      )
  for method in (adapt.method, *filter(None, (adapt.beside or "").split(","))):
    adaptation.get(method.strip())
  usual = _SMALL_BATCH if 0 < px <= SMALL_PX else _BATCH
  return adapt.model_copy(update={"batch_size": adapt.batch_size or usual})


def check_name(name: str) -> None:
  """Refuse the name of a file where a network is expected."""
  if "." in name and ":" not in name:
    raise errors.UserError(
      f"adapt: got the file {name!r}, expected a network: a table of predictions"
      " has no norms that adapt. Leave adapt out; `robust-tfds score"
      " --predictions=FILE` scores a table."
    )


def entries(adapt: Adapt, label: str) -> dict[str, dict[str, Any]]:
  """Return label -> the key `adapt` of the models beside a model of the run."""
  out = {}
  further = [m.strip() for m in (adapt.beside or "").split(",") if m.strip()]
  for method in dict.fromkeys((adapt.method, *further)):
    for seed in range(adapt.seed, adapt.seed + adapt.seeds):
      name = f"{label} {method}" + f", seed {seed}" * (adapt.seeds > 1)
      update = {"method": method, "seed": seed, "seeds": 1, "source": label}
      if method != adapt.method:
        update["hyperparameters"] = {}
      one = adapt.model_copy(update=update)
      out[name] = one.model_dump(exclude={"beside", "run", "seeds"})
  return out


def levels(adapt: Adapt, severities: Any) -> Any:
  """Return the severities of a run: a stream has one, a gradual one all."""
  if adapt.setting not in streams.SEQUENTIAL:
    return severities
  if adapt.setting == "gradual":
    return (1, 2, 3, 4, 5)
  one = severities if isinstance(severities, int) else None
  listed = list(severities) if one is None else [one]
  return tuple(listed) if len(listed) == 1 else (_LEVEL,)


def check(adapts: Mapping[str, Adapt], batch_size: int, task: str) -> None:
  """Refuse models of one run that cannot be shown the same batches.

  Raises:
    UserError: names the key.
  """
  if adapts and task != "classification":
    raise errors.UserError(
      f"config.adapt: got task {task!r}, expected classification: pictures with"
      " one label each. Leave adapt out."
    )
  sizes = {label: a.batch_size for label, a in adapts.items()}
  wrong = {k: n for k, n in sizes.items() if n != batch_size}
  for label, size in wrong.items():
    raise errors.UserError(
      f"config.models.{label}.adapt.batch_size: got {size}, and the run's is"
      f" {batch_size}: models of one run are shown the same batches. Set both to"
      " the same number."
    )
  if len({a.last_batch for a in adapts.values()}) > 1:
    raise errors.UserError(
      "config.models: last_batch is keep for some models and drop for others,"
      " expected one of them: the run's pictures differ. Make two runs."
    )


def passes(adapts: Mapping[str, Adapt], conditions: Sequence[Condition]) -> int:
  """Return how often a run reads its set: once a stream's condition."""
  count = 0
  for stream, sequential in {
    (a.stream, a.is_sequential) for a in adapts.values()
  }:
    domains = stream.domains(conditions) if sequential else []
    count += (
      len(domains) + any(c.clean for c in conditions) if sequential else 1
    )
  return count


def words(adapt: Adapt) -> str:
  """Return a line about the effect of the defaults on the numbers."""
  again = {
    "reset": "each condition begins with the source's weights",
    "episodic": "each batch begins with the source's weights",
  }.get(adapt.setting, "one stream over all conditions, never told of a shift")
  how = (
    f"shuffled by seed {adapt.seed}"
    if adapt.shuffle
    else ("in the stored order, which class folders sort by class")
  )
  how += ", alike in every condition"
  if adapt.setting == "mixed":
    how = f"of all corruptions shuffled together by seed {adapt.seed}"
  if adapt.setting == "correlated":
    how += f", then gathered by class (delta {adapt.delta:g})"
  last = (
    "a smaller last batch kept"
    if adapt.last_batch == "keep"
    else ("the pictures of a smaller last batch left out")
  )
  drops = issubclass(adaptation.get(adapt.method), base.Learner)
  if drops and adapt.hyperparameters.get("dropout", True):
    last += "; dropout, where the network has some, as in training"
  return (
    f"adapts by {adapt.method}, setting {adapt.setting}: {again}; batches of"
    f" {adapt.batch_size} (adapt's, not evaluate's), pictures {how};"
    f" {last}"
  )
