"""The models of a run: loaded or trained, and put on the devices."""

import dataclasses
import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from eval.cells.workdir import Workdir
from eval.pipeline import (
  adapting as adapting_lib,
)
from eval.pipeline import (
  inputs,
  on_host,
  predict,
  probabilities,
  relabel,
  whole_outputs,
)
from eval.run import data as data_lib
from eval.run.execution import progress
from eval.run.model import (
  adapted,
  output_classes,
  own_models,
  probe,
  train_mode,
)
from eval.run.plan import Plan, check_classes
from models import weights_file
from models.last_layer import LastLayer
from models.model import Model
from models.own import source as own_source
from robust_tfds import errors, hosts

_SIDE_PX = 224  # where neither the set nor the model has one size


Predictor = (
  predict.Predictor
  | on_host.HostPredictor
  | relabel.Predictor
  | whole_outputs.Predictor
  | adapting_lib.AdaptingPredictor
)


@dataclasses.dataclass
class LoadedModel:
  """A model on the devices and what its numbers depend on.

  Attributes:
    predictor: runs it.
    spec: its preprocessing and labels.
    weights: sha256 of its variables.
    dtype: dtype that it computes in.
    own: what else tells a user's own model from another; None of others.
    outputs: what its outputs stand for; None: the classes, in their order.
    kind: whether its outputs are logits.
    notes: what a run prints of its answers to the probe.
    adapting: the predictor with its states, of a model that adapts.
  """

  predictor: Predictor
  spec: Any
  weights: str
  dtype: str
  own: own_models.OwnModel | None = None
  outputs: output_classes.OutputClasses | None = None
  kind: probabilities.OutputKind = probabilities.OutputKind()
  notes: Sequence[str] = ()
  adapting: adapting_lib.AdaptingPredictor | None = None


def load(
  plan: Plan,
  label: str,
  clean: inputs.Source,
  workdir: Workdir,
  mesh: Mesh,
  host: hosts.Host,
) -> LoadedModel:
  """Return a model of the plan with its weights.

  Raises:
    UserError: a model of another label space, or a checkpoint that does not fit;
      a user's own that fails, answers otherwise than its spec says, or at random;
      boxes in another form.
  """
  entry, model = plan.models[label], plan.model(label)
  check_classes(plan, label, model.spec, clean.builder)
  variables = variables_of(plan, label, clean, workdir, host)
  head = plan.definitions[label].head
  # Embeddings follow from the text tower, and differ a little between devices.
  read = {**variables, "text": head.tower.variables} if head else variables
  weights = weights_file.sha256(read)
  outputs = plan.outputs.get(label)
  own: own_models.OwnModel | None = None
  answers: Mapping[str, np.ndarray] = {}
  notes: list[str] = []
  if plan.own(label):
    pictures = probe.batch(model, clean, _side_px(plan, model))
    apply = (
      functools.partial(whole_outputs.apply, model)
      if plan.task.whole_outputs
      else None
    )
    answers, random = probe.answers(label, model, variables, pictures, apply)
    if random and not entry.allow_random:
      raise errors.UserError(_random(label, model))
    own = own_models.OwnModel(
      entry.name, weights, _source(entry.name, model), random, answers
    )
    notes = probe.notes(answers)
    if model.kind == "detection" and plan.task.set_kind == "objects":
      from eval.run.model import box_forms

      names = [name for name, *_ in plan.class_names()]
      if outputs:
        answers = jax.device_get(outputs.relabelling(answers))
      notes = box_forms.check(label, answers, clean, names)
  if plan.task.whole_outputs:
    return LoadedModel(
      whole_outputs.Predictor(label, model, variables),
      model.spec,
      weights,
      entry.dtype or "float32",
      own,
      notes=notes,
    )
  stated = model.spec.stated_outputs
  kind = probabilities.kind_of(label, stated, answers.get("logits"))
  predictor: Any = None
  adapter = adapted.predictor(
    plan, label, kind, variables, clean, workdir, mesh
  )
  predictor = adapter or on_host.predictor(model, variables, mesh)
  if kind.name != probabilities.LOGITS:
    predictor = relabel.Predictor(predictor, kind.reducing)
  if outputs:
    predictor = relabel.Predictor(predictor, outputs.relabelling.reducing)
  return LoadedModel(
    predictor,
    model.spec,
    weights,
    entry.dtype or "float32",
    own,
    outputs,
    kind,
    notes,
    adapter,
  )


def variables_of(
  plan: Plan,
  label: str,
  clean: inputs.Source,
  workdir: Workdir,
  host: hosts.Host,
) -> Any:
  """Return a model's weights, with a fitted last layer if it has one."""
  entry, model = plan.models[label], plan.model(label)
  if not isinstance(model, LastLayer) or not entry.last_layer:
    return network_variables(plan, label, model, workdir, host)
  from eval.run.model import last_layer

  network = network_variables(plan, label, model.network, workdir, host)
  recipe, size = entry.last_layer, plan.config.batch_size // host.count
  source = clean.part(recipe.split, size)
  return hosts.first_host_first(
    host,
    f"last layer {label}",
    lambda: last_layer.load_or_fit(
      model, recipe.model_dump(), network, source, workdir.model_folder(label)
    ),
  )


def check_trained(plan: Plan, workdir: Workdir) -> None:
  """Refuse weights that a run would also refuse if it had trained them itself.

  Raises:
    UserError: they are of another recipe, or damaged.
  """
  from eval.run.model import trained

  for label, entry in plan.models.items():
    if entry.train:
      recipe, folder = entry.train.recipe(), workdir.model_folder(label)
      trained.check(plan.model(label), recipe, folder)


def network_variables(
  plan: Plan, label: str, model: Model, workdir: Workdir, host: hosts.Host
) -> Any:
  """Return a model's weights: given, trained, its own or from a checkpoint."""
  adapt = plan.models[label].adapt
  if adapt and adapt.source and adapt.source in plan.models:
    label = adapt.source  # its weights are those
  entry, model_object = plan.models[label], plan.objects.get(label)
  if model_object and model_object.variables is not None:
    return model_object.variables
  if entry.train:
    from eval.run.model import kept_weights

    recipe = entry.train.recipe()
    return hosts.first_host_first(
      host,
      f"train {label}",
      lambda: kept_weights.load_or_train(
        model,
        recipe,
        workdir.model_folder(label),
        data_dir=str(data_lib.data_dir(plan, workdir)),
      ),
    )
  if plan.own(label):
    return own_models.variables(label, model, jax.random.key(plan.seed))
  definition = plan.definitions[label]
  assert (
    definition.checkpoint is not None
  )  # plans have no model without weights
  variables = definition.checkpoint.variables
  if definition.head is None:
    return variables
  progress.say(f"{label}: embedding {len(definition.head.ids):,} prompts")
  return {**variables, "text": definition.head.embeddings()}


def _source(name: str, model: Model) -> dict[str, str]:
  """Return the sha256 of the code that a foreign model runs, by name."""
  source = own_source.code_hashes(model.code)
  if ":" in name:
    source |= own_source.hashes(name)
  if model.program:
    source["program"] = hashlib.sha256(model.program.encode()).hexdigest()
  return dict(sorted(source.items()))


def _side_px(plan: Plan, model: Model) -> int:
  """Return the side of the probe's pictures if the set's vary in size."""
  return plan.task.setting.edition_px or model.spec.usual_px or _SIDE_PX


def _random(label: str, model: Model) -> str:
  return (
    f"{label} answers otherwise when it is shown the same pictures again: dropout"
    " or noise is on, or numbers are drawn while it is built into a program"
    f" (np.random, time). {train_mode.remedy(model.code)} If it is random on"
    " purpose, set --config.model.allow_random=True (of several models: in its"
    " entry; of evaluate allow_random=True), and its cells will say so."
  )
