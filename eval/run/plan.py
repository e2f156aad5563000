"""The plan of a run: its cells, models and data, checked before it starts."""

import dataclasses
import functools
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import ml_collections

from eval import tasks
from eval.pipeline import subset as subset_lib
from eval.run import adapt as adapt_lib
from eval.run import spec as spec_lib
from eval.run import subsets
from eval.run.model import definitions as definitions_lib
from eval.run.model import functions, output_classes, training_data, zero_shot
from eval.tasks import base
from eval.tasks.headlines import baselines
from models import adapters
from models.last_layer import LastLayer
from models.model import Model
from models.spec import Spec
from models.zero_shot import texts as texts_lib
from robust_tfds import errors, missing, natural_sets
from robust_tfds.building import geometry
from robust_tfds.building.base import Builder
from robust_tfds.building.own_set import OwnSet
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import frost_pictures, trial
from robust_tfds.storage import paths

_SOURCES = ("fly", "prepared")
_IMAGENET = "imagenet1k"  # for models with ImageNet's 1,000 classes
_OF_MODELS = "model"  # geometry: the models' own crop rule
_WHOLE = ("", "none")  # users' pictures and videos that are not cropped
_FROST = "frost"
_ABSENT = "absent"  # left_out: what needs files that are not here


@dataclasses.dataclass(frozen=True)
class Plan:
  """A validated run.

  Attributes:
    task: bound to this run's setting.
    conditions: clean first, then the corruptions in paper order.
    models: label -> its part of the config.
    definitions: label -> the model, and the weights of its checkpoint.
    objects: label -> the model object, of models that are not named.
    config: with the crop that the models have in place of `geometry=model`, and
      with the name of the subset in place of its file.
    outputs: label -> what a model's outputs stand for, where a file says it.
    subset: the examples that are used; None: all, or the first of them.
    lacks: what is not here of weights and frost pictures; data: `data.lacks`.
  """

  task: base.Task
  conditions: Sequence[Condition]
  models: Mapping[str, spec_lib.Model]
  definitions: Mapping[str, definitions_lib.Definition]
  objects: Mapping[str, definitions_lib.ModelObject]
  config: spec_lib.RunSpec
  outputs: Mapping[str, output_classes.OutputClasses] = dataclasses.field(
    default_factory=dict
  )
  subset: subset_lib.Subset | None = None
  lacks: tuple[missing.Lack, ...] = ()

  @property
  def dataset(self) -> str:
    """Name of the corrupted dataset."""
    return self.task.setting.dataset

  @property
  def seed(self) -> int:
    """The run's seed."""
    return self.task.setting.seed

  @property
  def fly(self) -> bool:
    """Whether corrupted pixels are made on the fly."""
    return self.task.setting.fly

  @property
  def adapts(self) -> dict[str, adapt_lib.Adapt]:
    """Label -> how a model adapts, of those that do."""
    return {k: e.adapt for k, e in self.models.items() if e.adapt}

  def own(self, label: str) -> bool:
    """Return whether a model is the user's, not one of the catalogue."""
    name = self.models[label].name
    return ":" in name or self.model(label).is_external

  def model(self, label: str) -> Model:
    """Return a model of the run by its label."""
    return self.definitions[label].model

  def class_names(self) -> Sequence[Sequence[str]]:
    """Return each class's names in the data set; empty if unknown."""
    manual_dir = os.fspath(self.config.data.manual_dir or "")
    return self.config.builder.class_names(manual_dir)

  @property
  def crop_lines(self) -> list[str]:
    """The crops of the user's own pictures, a line for each rule; else nothing."""
    own, builder = sized(self.config.builder), self.config.builder
    if not own:
      return []
    noun = "videos" if builder.KIND == "videos" else "pictures"
    if self._rule_of_data:
      return [f"{noun} of {self.data_crop}"]
    rules: dict[str, list[str]] = {}
    for label in self.models:
      rule = self.model(label).spec.geometry
      words = geometry.describe(rule, own.sizes, "corrupted whole; ")
      rules.setdefault(words, []).append(label)
    return [
      f"{noun} of {words}" + f" ({', '.join(labels)})" * (len(rules) > 1)
      for words, labels in rules.items()
    ]

  @property
  def data_crop(self) -> str:
    """The crop of the user's own pictures if the data decides it; else ''."""
    own = sized(self.config.builder)
    return (
      geometry.describe(self._rule_of_data or "none", own.sizes) if own else ""
    )

  @property
  def _rule_of_data(self) -> str:
    """The crop before a corruption; '' if models crop afterwards."""
    rule, builder = self.config.data.geometry or "", self.config.builder
    if builder.KIND == "sequences":
      return rule or builder.GEOMETRY
    return "" if rule in _WHOLE else rule

  @property
  def left_out(self) -> str:
    """The names of corruptions that the run leaves out; empty if there are none."""
    names = ", ".join(self.task.left_out)
    return f"{names} left out" if names else ""

  @property
  def left_out_note(self) -> str:
    """The line about corruptions that the run leaves out; '' if there are none."""
    if not self.conditions[0].clean:
      return (
        f"clean left out: the published files of {self.dataset} hold no clean"
        " pictures, and they are not here; what is relative to clean is missing"
      )
    if not self.left_out:
      return ""
    get = f"; its pictures: {frost_pictures.GET}"
    note = f"no mean over all {self.task.facts.noun}s"
    return f"{self.left_out}: {note}{get * (_FROST in self.left_out)}"

  def notes(self, label: str) -> list[str]:
    """Return the sentences that a run prints about a model."""
    outputs = self.outputs.get(label)
    names = [n[0] for n in self.class_names()] if outputs else []
    words = [outputs.relabelling.words(names)] if outputs else []
    adapt = self.models[label].adapt
    words += [adapt_lib.words(adapt)] if adapt else []
    return [*self.definitions[label].notes, *words]

  @property
  def cells(self) -> list[tuple[str, Condition]]:
    """(label, condition) of every cell, in the order of the table."""
    return [(label, c) for label in self.models for c in self.conditions]

  def stored(self, condition: Condition) -> tuple[str, str]:
    """Return config and codec of the set that a condition is read from.

    On the fly that is one for all. The authors' files hold no clean data: it is
    read without loss.
    """
    from robust_tfds import datasets

    task = self.task
    if self.fly:
      return task.base_config, task.clean_codec
    codec = task.setting.codec
    if condition.clean and codec == datasets.PUBLISHED:
      codec = task.clean_codec
    return condition.config, codec

  def options(self, codec: str) -> dict[str, Any]:
    """Return how the run's sets are built, as `datasets.builder` takes it."""
    out: dict[str, Any] = {"codec": codec}
    if not self.fly:
      out["seed"] = self.seed
    if self.config.data.geometry:
      out["geometry"] = self.config.data.geometry
    return out

  @property
  def names(self) -> tuple[str, ...]:
    """Names of the corruptions, in the order of the table."""
    return tuple(dict.fromkeys(c.name for c in self.conditions if c.name))


def make(
  spec: spec_lib.RunSpec | ml_collections.ConfigDict,
  objects: Mapping[str, definitions_lib.ModelObject] | None = None,
  *,
  fetch: bool = True,
) -> Plan:
  """Make a run's plan, and refuse what cannot be run.

  Args:
    spec: what is asked for, or the config of a file, which is read as one.
    objects: label -> the model object, of models that are not named.
    fetch: download checkpoints; else go without those that a run would.

  Raises:
    UserError: a key or value that the schema refuses, an unknown dataset,
      corruption, severity, codec, crop, model or task (with a suggestion), or
      settings that contradict each other.
  """
  if not isinstance(spec, spec_lib.RunSpec):
    spec = spec_lib.from_config(spec)
  _check_paths(spec.data)
  task = task_of(spec)  # refuses what it has no use for before a file is opened
  lacks: list[missing.Lack] = []
  parsed, subset = _resolve_subset(_resolve_left_out(spec))
  if parsed is not spec:
    task = task_of(parsed)
  spec_lib.check_keys(task)
  conditions = _conditions(task)  # refused before a checkpoint is read
  entries = parsed.entries
  adapts = {k: e.adapt for k, e in entries.items() if e.adapt}
  adapt_lib.check(adapts, parsed.batch_size, parsed.task)
  copies = {
    label: adapt.source
    for label, adapt in adapts.items()
    if adapt.source in entries
  }
  objects = dict(objects or {})
  defined = definitions_lib.define(
    {k: e for k, e in entries.items() if k not in copies},
    objects,
    task.model_kind,
    functools.partial(function_model, parsed),
    lacks,
    fetch=fetch,
    texts=_texts(parsed, task),
  )
  if (
    parsed.model and not objects
  ):  # it may call itself otherwise than its place
    (definition,) = defined.values()
    if definition.model.name not in adapters.names():  # else nobody named it
      parsed = parsed.called(definition.model.name)
    entries = parsed.entries
    defined = dict.fromkeys(entries, definition)
  for label, source in copies.items():
    defined[label] = defined[source]
    if source in objects:
      objects[label] = objects[source]
  defined = {label: defined[label] for label in entries}
  defined = _add_last_layers(entries, defined, parsed.builder)
  seen = {
    label: _as_stored(each, parsed.builder) for label, each in defined.items()
  }
  if parsed.data.geometry in _WHOLE:
    defined = seen  # models crop what was corrupted
  if parsed.data.geometry == _OF_MODELS:
    crop = parsed.builder.crop(_crop(seen))
    parsed = parsed.replace_data("geometry", crop)
    task = task_of(parsed)
  _check_baseline(task, list(entries), parsed.builder)
  _check_codec(task, parsed.builder)
  _check_own(task, conditions)
  plan = Plan(
    task, conditions, entries, defined, objects, parsed, subset=subset
  )
  for label, entry in entries.items():
    training_data.corruptions_seen(entry)
    with missing.collected(lacks):
      _check_weights(plan, label)
  _check_sets(plan)
  plan = dataclasses.replace(plan, outputs=_outputs(plan))
  _check_label_spaces(plan, lacks)
  if task.setting.fly and _FROST in plan.names:
    with missing.collected(lacks):
      _check_frost(parsed.data)
  return dataclasses.replace(plan, lacks=tuple(lacks))


def _texts(
  config: spec_lib.RunSpec, task: base.Task
) -> dict[str, texts_lib.Texts]:
  """Return label -> the texts of the classes, of models with prompts."""
  prompted = {k: e for k, e in config.entries.items() if e.prompts}
  for entry in config.entries.values():
    if entry.class_names and not entry.prompts:
      raise errors.UserError(
        f"{entry.key}: class_names are words for prompts. Set prompts, or leave it"
        " out; the classes of outputs are named by classes."
      )
  if not prompted:
    return {}
  if task.setting.data.get("label_space"):
    raise errors.UserError(
      "config.data.label_space: prompts make outputs of the data set's classes"
      " alone. Leave it out."
    )
  builder = config.builder
  names = builder.class_names(os.fspath(config.data.manual_dir or ""))
  known = builder.CLASSES
  count = known if isinstance(known, int) else len(known)
  classes = [each[0] for each in names]
  return {k: zero_shot.texts(e, classes, count) for k, e in prompted.items()}


def _add_last_layers(
  entries: Mapping[str, spec_lib.Model],
  defined: Mapping[str, definitions_lib.Definition],
  builder: type[Builder],
) -> dict[str, definitions_lib.Definition]:
  """Return definitions with the last layers that the run fits."""
  classes = len(builder.class_names())
  return {
    label: dataclasses.replace(
      model,
      model=LastLayer.from_network(model.model, classes, builder.set_name()),
    )
    if entries[label].last_layer
    else model
    for label, model in defined.items()
  }


def sized(builder: type[Builder]) -> OwnSet | None:
  """Return the set if the sizes of its pictures decide how they are cropped.

  None of benchmarks and natural sets, which have a rule, and of scenes, which
  models resize.
  """
  own = builder.OWN
  unruled = own and not natural_sets.is_natural(own.where)
  return own if unruled and builder.KIND not in ("objects", "masks") else None


def _as_stored(
  definition: definitions_lib.Definition, builder: type[Builder]
) -> definitions_lib.Definition:
  """Return a model that takes the user's pictures unchanged if they have its size."""
  own, spec = sized(builder), definition.model.spec
  if not own or not isinstance(spec, Spec) or spec.resize == "whole":
    return definition
  px = spec.input_px
  if own.sizes != {(px, px)}:
    return definition
  fields = {"resize": "short_side", "resize_px": px}
  return dataclasses.replace(
    definition, model=definition.model.with_fields(fields)
  )


def _check_frost(data: spec_lib.Data) -> None:
  frost_pictures.check(data.frost_dir, data.manual_dir)


def _resolve_left_out(config: spec_lib.RunSpec) -> spec_lib.RunSpec:
  """Return the spec with `frost`, or nothing, in place of `left_out=absent`.

  What a config asks for by its name is not left out, nor where a folder is named.
  """
  if _ABSENT not in spec_lib.words(config.data.left_out):
    return config
  named = _FROST in spec_lib.words(config.data.corruptions or ())
  named = named or frost_pictures.is_named(config.data.frost_dir)
  config = config.replace_data("left_out", "none")
  if config.data.source != "fly" or named:
    return config
  lacks: list[missing.Lack] = []
  if any(c.name == _FROST for c in _conditions(task_of(config))):
    with missing.collected(lacks):
      _check_frost(config.data)
  return config.replace_data("left_out", _FROST) if lacks else config


def _check_baseline(
  task: base.Task, labels: Sequence[str], builder: type[Builder]
) -> None:
  """Refuse a baseline that does not fit; on own data, all published numbers."""
  task.check_baseline(labels)
  baseline = task.setting.baseline
  if builder.OWN and baseline and not baselines.model_label(baseline):
    raise errors.UserError(
      f"baseline={baseline!r}: its numbers belong to other pictures than"
      f" {builder.set_name()}. Leave it empty (plain means), or name a model of the"
      " run: model:LABEL."
    )


def _check_paths(data: spec_lib.Data) -> None:
  """Refuse addresses that nothing here opens."""
  for key in ("data_dir", "manual_dir", "frost_dir"):
    if getattr(data, key):
      paths.parse(getattr(data, key), f"config.data.{key}")
  if data.data_dir:
    paths.check_records(data.data_dir, "config.data.data_dir")


def _conditions(task: base.Task) -> list[Condition]:
  """Return the task's conditions; refusals name the keys."""
  try:
    return task.conditions()
  except errors.UserError as e:
    data = task.setting.data
    got = ", ".join(f"{k}={data[k]!r}" for k in task.condition_keys())
    raise errors.UserError(f"config.data: {got}: {e}") from e


def task_of(config: spec_lib.RunSpec) -> base.Task:
  """Return the task of a config, bound to its setting.

  Of `geometry=model` with the set's own crop: the models are not known yet.

  Raises:
    UserError: an unknown task, dataset or `data.source`, or a setting that the
      task refuses.
  """
  if config.data.geometry == _OF_MODELS:
    config = config.replace_data("geometry", "")
  data = config.data
  if data.source not in _SOURCES:
    raise errors.unknown_error("data.source", data.source, _SOURCES)
  _check_set_kind(config)
  edition = config.builder.edition_of(data.geometry or "")
  return tasks.bind(config.written, edition, config.own_metrics)


def _check_set_kind(config: spec_lib.RunSpec) -> None:
  """Refuse a data set that belongs to another task."""
  name, kind = config.data.name, config.builder.KIND
  if kind != tasks.get(config.task).set_kind:
    others = [t for t in tasks.names() if tasks.get(t).set_kind == kind]
    raise errors.UserError(
      f"config.data.name: {name} is a data set of the task {', '.join(others)},"
      f" and config.task is {config.task!r}."
    )


def _crop(defined: Mapping[str, definitions_lib.Definition]) -> str:
  """Return the models' crop rule, which edition, sets and notes follow from."""
  rules = {each.model.spec.geometry for each in defined.values()}
  if len(rules) != 1:
    raise errors.UserError(
      "config.data.geometry=model needs models of one geometry, got"
      f" {', '.join(sorted(rules))}. Run them one by one."
    )
  return rules.pop()


def _resolve_subset(
  config: spec_lib.RunSpec,
) -> tuple[spec_lib.RunSpec, subset_lib.Subset | None]:
  """Return the spec with the subset's name for its file, and the subset.

  So a workdir is continued wherever the file lies, and not with another one.
  """
  data = config.data
  if not data.subset:
    return config, None
  if data.limit:
    raise errors.UserError(
      f"config.data: subset={os.fspath(data.subset)!r} and limit={data.limit}"
      " both choose examples. Set limit to 0, or leave out subset."
    )
  subset = subsets.read(data.subset)
  return config.replace_data("subset", subset.name), subset


def _check_own(task: base.Task, conditions: Sequence[Condition]) -> None:
  """Refuse the user's own corruptions that do not support the set's edition."""
  for name in dict.fromkeys(c.name for c in conditions):
    if task.family.kind == "pictures" and task.setting.fly and name:
      setting = task.setting
      trial.check(name, setting.edition, setting.dataset)


def _check_codec(task: base.Task, builder: type[Builder]) -> None:
  setting = task.setting
  if setting.fly and setting.codec not in task.fly_codecs:
    if setting.codec not in builder.CODECS:
      known = dict.fromkeys((*task.fly_codecs, *builder.CODECS))
      unknown = errors.unknown_error("codec", setting.codec, known)
      raise errors.UserError(f"config.data.codec: {unknown}")
    raise errors.UserError(
      f"config.data.codec: {setting.codec!r} cannot be made on the fly; use"
      " data.source=prepared, or one of"
      f" {', '.join(repr(c) for c in task.fly_codecs)}."
    )


def _check_sets(plan: Plan) -> None:
  """Refuse configs, codecs and crops that the data set does not have."""
  builder, split = plan.config.builder, plan.config.data.split
  if builder.FAMILY is not None and split not in builder.splits():
    raise errors.UserError(
      f"config.data.split: got {split!r}, and {plan.dataset} has"
      f" {' or '.join(map(repr, builder.splits()))} alone; for fewer examples set"
      " config.data.limit or config.data.subset."
    )
  for condition in plan.conditions:
    config, codec = plan.stored(condition)
    with errors.prefixed("config.data"):
      builder.config_of(config, **plan.options(codec))


def model_classes(config: spec_lib.RunSpec) -> tuple[int, ...]:
  """Return the class counts that models of a run may have.

  Raises:
    UserError: an unknown dataset or task, or settings that they refuse.
  """
  task = task_of(config)
  if not task.has_classes:
    return (Spec.least_classes,)  # their number is unknown
  config = config.replace_data(
    "geometry", task.setting.data.get("geometry", "")
  )
  builder = _clean_builder(Plan(task, [Condition()], {}, {}, {}, config))
  classes = task.label_feature(builder.info.features).num_classes
  own = builder.OWN
  kind = task.model_kind
  has_published = own and (
    own.members or output_classes.from_published(builder.class_names(), kind)
  )
  published = {len(output_classes.published(kind))} if has_published else set()
  counts = {classes, *published}
  return tuple(c for n in sorted(counts) for c in task.model_classes(n))


def function_model(
  config: spec_lib.RunSpec,
  function: Callable[..., Any],
  side_px: int | None = None,
  classes: Any = None,
  label: str = "",
) -> Model:
  """Return a plain function as a model of a run; see `functions.model`."""
  own, task = config.builder.OWN, tasks.get(config.task)
  if own and not classes and task.has_classes:
    called = label or getattr(function, "__name__", "the function")
    _check_annotated(own, called, len(own.classes))
  return functions.model(
    function,
    task.model_kind,
    model_classes(config),
    is_asked=bool(config.builder.OWN),
    for_metric=task.whole_outputs,
    side_px=side_px,
    classes=classes,
    label=label,
  )


def _check_annotated(own: OwnSet, label: str, count: int) -> None:
  """Ask which categories the `count` classes of a detector are.

  Raises:
    UserError: categories without boxes would shift them; of COCO's 80 none would.
  """
  some, first = list(own.annotated), list(own.classes[:count])
  if not some or first[: len(some)] == some:
    return
  coco = [n for n, *_ in output_classes.published("detection")]
  if list(own.classes) == coco:
    return
  without = [n for n in own.classes if n not in some]
  raise errors.UserError(
    f"{own.name}: {len(without)} of {len(own.classes)} categories without boxes"
    f" ({', '.join(without[:5])}), and nothing says whether they are outputs of"
    f" {label}. Say what its outputs are, in their order: classes={some} of evaluate"
    f" if they are the annotated categories, classes={first} if they are not; as a"
    " command a file with a line an output, --config.model.classes=FILE."
  )


def _clean_builder(plan: Plan) -> Any:
  from robust_tfds import datasets

  config, codec = plan.stored(plan.conditions[0])
  return datasets.builder(plan.config.builder, config, **plan.options(codec))


def _outputs(plan: Plan) -> dict[str, output_classes.OutputClasses]:
  """Return the output classes that configs, trainings or names state."""
  given = {k: e.classes for k, e in plan.models.items() if e.classes}
  if not plan.task.has_classes:
    if given:
      raise errors.UserError(
        f"classes={next(iter(given.values()))!r}: a custom metric gets the"
        " answers as they are. Leave classes out."
      )
    return {}
  if given and plan.task.has_label_maps:
    raise errors.UserError(
      f"{next(iter(given.values()))}: config.model.classes is not read by task"
      f" {plan.task.facts.task}, which groups a model's outputs by a label map:"
      " set config.data.label_space to a JSON file whose members are your"
      " model's outputs."
    )
  builder = plan.config.builder
  trained = _trained(plan)
  if not given and not trained and not builder.OWN:
    return {}
  feature = plan.task.label_feature(_clean_builder(plan).info.features)
  names = plan.class_names()
  out = {
    label: output_classes.read(
      os.fspath(each) if isinstance(each, os.PathLike) else each,
      names,
      feature.num_classes,
      plan.model(label).spec.num_classes,
    )
    for label, each in given.items()
  }
  for label in trained.keys() - out.keys():
    count = plan.model(label).spec.num_classes
    what = f"{plan.models[label].key}.checkpoint"
    numbered = isinstance(builder.CLASSES, int)
    outputs = output_classes.from_training(
      what, trained[label], names, count, numbered=numbered
    )
    out |= {label: outputs} if outputs else {}
  if builder.OWN:
    # Of prompts the outputs are the set's classes.
    prompted = {k for k, entry in plan.models.items() if entry.prompts}
    out |= _published_classes(plan, names, {*out, *prompted})
    _check_order(plan, builder.OWN, {*out, *trained, *prompted})
  if plan.task.among_all:
    out = {label: outputs.among_all() for label, outputs in out.items()}
  return out


def _check_order(plan: Plan, own: OwnSet, labels: Collection[str]) -> None:
  """Refuse outputs of unknown order if two orders are usual."""
  untold = [
    label
    for label, entry in plan.models.items()
    if label not in labels and not entry.last_layer
  ]
  if own.two_orders and untold:
    raise errors.UserError(
      f"{own.where}: its classes are numbers, whose order differs:"
      f" {own.two_orders}. Say which the outputs of {untold[0]} have: classes="
      " of evaluate, --config.model.classes: 'textual' (as ImageFolder, Keras"
      " and TFDS sort), 'numeric', or the list of their names."
    )


def _trained(plan: Plan) -> dict[str, Sequence[str]]:
  """Return the classes of networks from `robust-tfds train`, in order."""
  if plan.task.has_label_maps:
    return {}  # a label map says what outputs are
  disclosures = {
    label: training_data.read_disclosure(entry)
    for label, entry in plan.models.items()
  }
  return {label: each.classes for label, each in disclosures.items() if each}


def _published_classes(
  plan: Plan, names: Sequence[Sequence[str]], labels: Collection[str]
) -> dict[str, output_classes.OutputClasses]:
  """Return output classes of published models over some of their classes."""
  own, kind = plan.config.builder.OWN, plan.task.model_kind
  members = own.members if own else ()  # natural sets have them
  outputs = (
    output_classes.from_members(
      members, [name[0] for name in names], joined=own.joined
    )
    if own and members
    else output_classes.from_published(names, kind)
  )
  count = len(output_classes.published(kind))
  specs = {label: plan.model(label).spec for label in plan.models}
  return {
    label: outputs
    for label, spec in specs.items()
    if outputs
    and label not in labels
    and (
      spec.label_space == _IMAGENET
      or (spec.num_classes == count and (members or len(names) < count))
    )
  }


def _check_label_spaces(plan: Plan, lacks: Sequence[missing.Lack]) -> None:
  """Refuse models whose classes are not the data's; name missing data too."""
  builder = _clean_builder(plan)
  try:
    for label in plan.models:
      check_classes(plan, label, plan.model(label).spec, builder)
  except errors.UserError as e:
    if not lacks:
      raise
    raise errors.UserError(f"{e}\n{missing.words(lacks)}") from e


def _check_weights(plan: Plan, label: str) -> None:
  """Refuse a model without weights."""
  entry, model_object = plan.models[label], plan.objects.get(label)
  if entry.train:
    _check_train(label, entry.train)
  brought = plan.own(label) or (
    model_object and model_object.variables is not None
  )
  if not entry.checkpoint and not entry.train and not brought:
    raise definitions_lib.missing_weights_error(
      label, entry, "Neither a checkpoint nor a training recipe is named."
    )


def _check_train(label: str, recipe: spec_lib.Train) -> None:
  from robust_tfds import datasets

  if natural_sets.is_natural(recipe.dataset):
    raise errors.UserError(
      f"Model {label}: train.dataset: {recipe.dataset} is a test set, and models"
      " are never trained on it."
    )
  with errors.prefixed(f"Model {label}: train.dataset"):
    builder = datasets.builder_class(recipe.dataset)
  splits = (*builder.splits(), "all")
  for part in recipe.split.split("+"):  # `train[:10%]+test`, as TFDS reads it
    if part.partition("[")[0].strip() not in splits:
      unknown = errors.unknown_error(f"split of {recipe.dataset}", part, splits)
      raise errors.UserError(f"Model {label}: train.split: {unknown}")


def check_classes(plan: Plan, label: str, spec: Any, builder: Any) -> None:
  """Refuse a model of other classes than the data's.

  Args:
    builder: builder of the data set, prepared or not.

  Raises:
    UserError: says both counts.
  """
  if not plan.task.has_classes:
    return
  for given, field in (
    (spec.takes_whole, "resize='whole'"),
    (spec.stated_outputs == "any", "outputs='any'"),
  ):
    if given:
      raise errors.UserError(
        f"{label}: its spec has {field}, which is for a metric of one's"
        " own: give metric= and better=, or the model's own rule."
      )
  if label in plan.outputs:
    return
  classes = plan.task.label_feature(builder.info.features).num_classes
  if spec.num_classes not in plan.task.model_classes(classes):
    own = plan.config.builder.OWN
    if own and spec.num_classes == len(own.annotated):
      _check_annotated(own, label, spec.num_classes)
    raise errors.UserError(
      f"Wrong label space: {label} has {spec.num_classes} classes"
      f" ({spec.label_space}), {plan.dataset} has {classes}. Use a model of"
      " that label space, or name the classes of its outputs in a file"
      " (config.model.classes, or classes= of evaluate)."
    )


def image_px(plan: Plan) -> int:
  """Return the side of the pictures that stages are timed on, px."""
  if plan.task.setting.edition_px:
    return plan.task.setting.edition_px
  features = _clean_builder(plan).info.features
  shape = features["image"].shape if "image" in features else (None,) * 3
  return shape[0] or plan.config.builder.USUAL_PX
