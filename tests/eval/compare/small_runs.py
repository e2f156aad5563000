"""Small finished runs on disk, as eval.main leaves them, without any model."""

import ml_collections
import numpy as np

from eval.cells import cell_facts, provenance
from eval.cells.cell import Cell
from eval.cells.workdir import Workdir
from robust_tfds import conditions

EXAMPLES = 40
DATASET = "digits_c"


def config(models, *, seed=0, baseline="", **data) -> ml_collections.ConfigDict:
  """The config of a run over all common corruptions."""
  return ml_collections.ConfigDict(
    {
      "task": "classification",
      "seed": seed,
      "batch_size": 8,
      "baseline": baseline,
      "models": {label: {"name": "digits_cnn"} for label in models},
      "data": {
        "name": DATASET,
        "split": "test",
        "source": "fly",
        "codec": "raw",
        "corruptions": "common",
        "severities": (1, 2, 3, 4, 5),
        **data,
      },
    }
  )


def conditions_of(names) -> list[conditions.Condition]:
  """Clean, and these corruptions at all severities."""
  family = conditions.PICTURES
  return [
    conditions.Condition(),
    *(family.condition(n, s) for n in names for s in conditions.SEVERITIES),
  ]


def data_facts(**others) -> cell_facts.DataFacts:
  """Facts of the data as a run states them."""
  facts = {
    "dataset": DATASET,
    "version": "1.0.0",
    "config": "clean",
    "split": "test",
    "subset": "",
    "examples": EXAMPLES,
    "source": "fly",
    "codec": "raw",
    "edition": "cifar10",
    "geometry": "",
    "px": [32, 32],
    "metric": 1,
    "pixels": provenance.PIXELS_VERSION,
    "content": "0" * 64,
    "decoders": "",
  }
  return cell_facts.DataFacts(**facts | others)


def model_facts(label, **others) -> cell_facts.ModelFacts:
  """Facts of a model as a run states them."""
  facts = {
    "name": "digits_cnn",
    "weights": label.ljust(64, "0"),
    "dtype": "float32",
    "preprocessing": {"input_px": 32},
    "adapter": "jax",
    "code": "0.1.0",
    "source": {},
    "classes": "",
    "random": False,
    "without_output": 0,
    "trained_on": "digits train",
    "corruptions_seen": [],
  }
  return cell_facts.ModelFacts(**facts | others)


def write(
  folder,
  models,
  *,
  names=None,
  chosen=None,
  seed=0,
  baseline="",
  facts=None,
  of_models=None,
  noted=True,
  examples=EXAMPLES,
  prefix="x",
  **data,
):
  """A finished run; gives its folder.

  Args:
    folder: its workdir.
    models: label -> its error on clean images; it grows with the severity.
    names: of corruptions; default: the common ones.
    chosen: f(label, condition): whether the cell is there; default: all.
    seed: the run's.
    baseline: of the config.
    facts: of the data that differ from the usual ones.
    of_models: label -> facts of the model that do.
    noted: whether the cells' notes have facts.
    examples: how many.
    prefix: of their ids.
    **data: of the config.
  """
  names = conditions.PICTURES.names("common") if names is None else names
  return write_cells(
    folder,
    config(models, seed=seed, baseline=baseline, **data),
    {m: model_facts(m, **(of_models or {}).get(m, {})) for m in models},
    data_facts(examples=examples, **(facts or {})),
    {
      (m, c): _columns(error, c, examples, prefix)
      for m, error in models.items()
      for c in conditions_of(names)
      if chosen is None or chosen(m, c)
    },
    noted=noted,
  )


def write_cells(folder, settings, models, about, columns, noted=True, split=""):
  """A finished run of any task; gives its folder.

  Args:
    folder: its workdir.
    settings: its config.
    models: label -> facts of the model.
    about: facts of the data.
    columns: (label, condition) -> what the cell holds.
    noted: whether the cells' notes have facts.
    split: name of what was read.
  """
  workdir = Workdir(folder)
  workdir.claim(settings)
  for (label, condition), of_cell in columns.items():
    by = models[label]
    mark = cell_facts.fingerprint(about, by, condition.config, settings.seed)
    cell = Cell(
      label,
      about.dataset,
      condition,
      settings.seed,
      mark,
      of_model=by.hash,
      data=about if noted else None,
      model_facts=by if noted else None,
    )
    workdir.write_cell(cell, of_cell, split)
  return folder


def _columns(error, condition, examples, prefix) -> dict[str, np.ndarray]:
  ids = np.array([f"{prefix}{i:03d}" for i in range(examples)])
  # The same pictures are hard for every model and under every corruption.
  hardness = np.random.default_rng(7).permutation(examples) / examples
  label = np.arange(examples, dtype=np.int32) % 10
  wrong = hardness < error + 0.02 * condition.level
  top5 = (label[:, None] + np.arange(5) + wrong[:, None]) % 10
  score = np.tile(np.float32([0.6, 0.1, 0.1, 0.1, 0.05]), (examples, 1))
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(examples, np.int32),
    "label": label,
    "top5": top5.astype(np.int32),
    "score": score,
  }
