"""The fingerprint of a run's cell: a hash of everything that the cell depends on."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from eval.cells import cell_facts, provenance
from eval.cells.cell import Cell
from eval.cells.cell_facts import DataFacts, ModelFacts
from eval.cells.workdir import Workdir
from eval.pipeline import inputs
from eval.run.data import Data
from eval.run.execution.contents import Contents
from eval.run.model import adapted, training_data
from eval.run.model.load import LoadedModel
from eval.run.plan import Plan
from robust_tfds import errors, own_corruptions, reading
from robust_tfds.conditions import Condition


def cells(
  plan: Plan,
  data: Data,
  loaded: Mapping[str, LoadedModel],
  contents: Contents,
  chosen: Sequence[tuple[str, Condition]],
) -> list[Cell]:
  """Return the cells of a run with their fingerprints.

  Args:
    data: data of the run; what the cells need is prepared.
    loaded: their models by label.
    contents: hashes of the data's files.
    chosen: (label, condition) of each cell.
  """
  sources = {condition: data.source(condition) for _, condition in chosen}
  content = {s: contents.sha256(s) for s in dict.fromkeys(sources.values())}
  facts = {
    source: _data_facts(plan, source, content[source]) for source in content
  }
  models = {k: _model_facts(plan, k, model) for k, model in loaded.items()}
  return [
    _cell(plan, label, condition, facts[sources[condition]], models[label])
    for label, condition in chosen
  ]


def _cell(
  plan: Plan,
  label: str,
  condition: Condition,
  data: DataFacts,
  model: ModelFacts,
) -> Cell:
  own = own_corruptions.sha256(condition.name)
  if own and condition.kind == "pictures":
    settings = {**data.settings, cell_facts.OWN: own}
    data = data.model_copy(update={"settings": settings})
  return Cell(
    model=label,
    dataset=plan.dataset,
    condition=condition,
    seed=plan.seed,
    fingerprint=cell_facts.fingerprint(
      data, model, condition.config, plan.seed
    ),
    random=bool(model.random),
    without_output=model.without_output or 0,
    of_model=model.hash,
    data=data,
    model_facts=model,
  )


def _data_facts(plan: Plan, source: inputs.Source, content: str) -> DataFacts:
  """Return facts of the set that is read, and of what is done to it."""
  facts = plan.task.config_facts()
  if shown := plan.data_crop:
    facts["settings"] = {**facts["settings"], cell_facts.SHOWN: shown}
  return DataFacts(
    **facts,
    version=source.builder.data_version(),
    split=source.split,
    examples=source.total,
    pixels=provenance.PIXELS_VERSION,
    content=content,
    decoders=source.decoders,
  )


def _model_facts(plan: Plan, label: str, model: LoadedModel) -> ModelFacts:
  own, entry = model.own, plan.models[label]
  outputs, head = model.outputs, plan.definitions[label].head
  return ModelFacts(
    name=entry.name if label not in plan.objects else "",
    weights=model.weights,
    dtype=model.dtype,
    preprocessing=_preprocessing(model),
    adapter=_adapter(plan, label),
    code=provenance.code_version(),
    source=dict(own.source) if own else {},
    classes=outputs.sha256 if outputs else "",
    random=own is not None and own.random,
    without_output=outputs.relabelling.without_output if outputs else 0,
    trained_on=training_data.words(entry),
    corruptions_seen=training_data.corruptions_seen(entry),
    severities_seen=training_data.severities_seen(entry),
    outputs=model.kind.name if model.kind.notes else None,
    adaptation=(
      adapted.facts(entry.adapt, model.adapting)
      if entry.adapt and model.adapting
      else None
    ),
    prompts=head.facts if head else None,
  )


def _adapter(plan: Plan, label: str) -> str:
  """Return what runs a model: `jax`, `traced` or `host` (the last two are external)."""
  model = plan.model(label)
  if not model.is_external:
    return "jax"
  return "host" if model.on_host else "traced"


def _preprocessing(model: LoadedModel) -> dict[str, Any]:
  """Return the spec but for what another count of the same network may change.

  Its `outputs` are a fact of their own, see `cell_facts.ModelFacts`.
  """
  spec = dataclasses.asdict(model.spec)
  del spec["gflops"]
  spec.pop("outputs", None)
  plain: dict[str, Any] = reading.json_text(
    json.dumps(spec, default=str), "the model's spec"
  )
  return plain


def check_finished(workdir: Workdir, cells: list[Cell]) -> None:
  """Refuse a workdir whose cells were made from something else.

  Raises:
    UserError: names the first of them.
  """
  stale_cells = [
    f"{cell.model} {cell.condition.config}"
    for cell in cells
    if workdir.done(cell) and workdir.note(cell).fingerprint != cell.fingerprint
  ]
  if stale_cells:
    raise errors.UserError(
      f"{workdir.path} holds {len(stale_cells)} finished cells that were made"
      f" from other weights, data or code, e.g. {', '.join(stale_cells[:3])}: a"
      " file changed since, though the config did not. Use another --workdir,"
      " or bring the old files back to continue that run."
    )
