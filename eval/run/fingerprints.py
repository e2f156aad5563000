"""What every cell of a run depends on, as its fingerprint."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from robust_tfds import conditions
from robust_tfds import errors
from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.results import provenance
from robust_tfds.eval.results.cell import Cell
from robust_tfds.eval.results.workdir import Workdir
from robust_tfds.eval.run.contents import Contents
from robust_tfds.eval.run.data import Data
from robust_tfds.eval.run.models import LoadedModel
from robust_tfds.eval.run.plan import Plan


def cells(
  plan: Plan,
  data: Data,
  loaded: Mapping[str, LoadedModel],
  contents: Contents,
  chosen: Sequence[tuple[str, conditions.Condition]],
) -> list[Cell]:
  """Cells of a run with their fingerprints.

  Args:
    plan: of the run.
    data: of the run; what the cells need is prepared.
    loaded: their models by label.
    contents: hashes of the data's files.
    chosen: (label, condition) of each cell.
  """
  listed = dict.fromkeys(condition for _, condition in chosen)
  sources = {condition: data.of(condition) for condition in listed}
  content = {s: contents.sha256(s) for s in dict.fromkeys(sources.values())}
  of_data = {
    condition: {
      **_data_facts(plan, source, condition),
      "content": content[source],
    }
    for condition, source in sources.items()
  }
  of_model = {label: _model_facts(model) for label, model in loaded.items()}
  marks = {k: provenance.fingerprint(facts) for k, facts in of_model.items()}
  return [
    Cell(
      model=label,
      dataset=plan.dataset,
      condition=condition,
      seed=plan.seed,
      fingerprint=provenance.fingerprint(
        {**of_data[condition], **of_model[label]}
      ),
      random=_is_random(loaded[label]),
      without_output=_without_output(loaded[label]),
      of_model=marks[label],
    )
    for label, condition in chosen
  ]


def _is_random(model: LoadedModel) -> bool:
  return model.own is not None and model.own.random


def _without_output(model: LoadedModel) -> int:
  outputs = model.outputs
  return outputs.relabelling.without_output if outputs else 0


def _data_facts(
  plan: Plan, source: inputs.Source, condition: conditions.Condition
) -> dict[str, Any]:
  """The set that is read, and what is made of it."""
  setting, builder = plan.task.setting, source.builder
  return {
    "dataset": setting.dataset,
    "condition": condition.config,
    "data_version": str(builder.info.version),
    "data_config": builder.builder_config.name
    if builder.builder_config
    else "",
    "split": source.split,
    "examples": source.total,
    "codec": setting.codec,
    "source": "fly" if setting.fly else "prepared",
    "edition": setting.edition,
    "seed": setting.seed,
    "pixels": provenance.PIXELS_VERSION,
    **plan.task.fingerprint_facts(),
  }


def _model_facts(model: LoadedModel) -> dict[str, Any]:
  return {
    "weights": model.weights,
    "preprocessing": _preprocessing(model),
    "dtype": model.dtype,
    "code": provenance.code_version(),
    **({"classes": model.outputs.sha256} if model.outputs else {}),
    **(model.own.facts() if model.own else {}),
  }


def _preprocessing(model: LoadedModel) -> dict[str, Any]:
  """The spec but for what another count of the same network may change."""
  spec = dataclasses.asdict(model.spec)
  del spec["gflops"]
  return spec


def check_finished(workdir: Workdir, listed: list[Cell]) -> None:
  """Refuses a workdir whose cells were made from something else.

  Raises:
    UserError: names the first of them.
  """
  stale_cells = [
    f"{cell.model} {cell.condition.config}"
    for cell in listed
    if workdir.done(cell) and workdir.note(cell).fingerprint != cell.fingerprint
  ]
  if stale_cells:
    raise errors.UserError(
      f"{workdir.path} holds {len(stale_cells)} finished cells that were made"
      f" from other weights, data or code, e.g. {', '.join(stale_cells[:3])}: a"
      " file changed since, though the config did not. Use another --workdir,"
      " or bring the old files back to continue that run."
    )
