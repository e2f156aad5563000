"""A small finished run over the true digits, and a submission to change."""

import functools
import hashlib
import json
import pathlib
import tempfile
import zipfile
from collections.abc import Callable

import numpy as np

from eval.cells import cell_facts, table
from eval.cells.files import packed
from eval.submissions import contents, manifest, writer
from robust_tfds import conditions, records
from robust_tfds.building import base
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from tests.eval.compare import small_runs

_place = functools.partial(base.place, "test")  # what the set is sorted by
CONFIGS = ("clean", "fog_1", "fog_3")
DATA = {"corruptions": "fog", "severities": (1, 3)}


def columns(condition: conditions.Condition, shift: int = 0) -> dict:
  """All digits of the test split; some are wrong, the more the higher."""
  labels = digits.labels("test")
  ids = np.array(list(labels))
  label = np.array(list(labels.values()), np.int32)
  wrong = (np.arange(len(ids)) + shift) % 10 < condition.level
  score = np.float32([0.6, 0.2, 0.1, 0.05, 0.05])
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(len(ids), np.int32),
    "label": label,
    "top5": (label[:, None] + np.arange(5, dtype=np.int32) + wrong[:, None])
    % 10,
    "score": np.tile(score, (len(ids), 1)),
  }


def run(folder, labels=("a",), of_models=None, **others):
  """Writes a run's workdir; gives its folder.

  Args:
    folder: where.
    labels: of the models.
    of_models: facts of all of them that differ from the usual ones.
    **others: of the config's `data`.
  """
  of_cells = {}
  for shift, label in enumerate(labels):
    for condition in map(conditions.PICTURES.parse, CONFIGS):
      whole = columns(condition, shift)
      order = sorted(whole["example_id"].tolist(), key=_place)
      first = np.isin(whole["example_id"], order[: others.get("limit")])
      rows = {k: v[first] for k, v in whole.items()}
      of_cells[label, condition] = rows
  return small_runs.write_cells(
    folder,
    small_runs.config(labels, **{**DATA, **others}),
    {m: small_runs.model_facts(m, **(of_models or {})) for m in labels},
    small_runs.data_facts(examples=len(rows["label"])),
    of_cells,
    split="test",
  )


def submission(root, labels=("a",), **others) -> pathlib.Path:
  """A submission of such a run."""
  out = pathlib.Path(root) / "submission"
  writer.export(
    [run(pathlib.Path(root) / "run", labels, **others)], out, {}, {}
  )
  return out


def folder() -> tempfile.TemporaryDirectory:
  """Of a class of tests; gone at its end."""
  return tempfile.TemporaryDirectory(prefix="robust_tfds_")


class Tampered:
  """A submission that somebody changes, with every hash recomputed after it."""

  def __init__(self, folder: pathlib.Path):
    """Of its folder."""
    self.folder = folder

  def cell(self, name="fog_3", label="a") -> pathlib.Path:
    """Folder of a cell."""
    return self.folder / "cells" / label / "digits_c" / name / "seed0"

  def columns(
    self, change: Callable[[dict], None], name="fog_3", label="a"
  ) -> None:
    """Changes the outputs of a cell."""
    path = self.cell(name, label) / "predictions.npz"
    arrays = packed.loads(path.read_bytes(), str(path))
    change(arrays)
    path.write_bytes(packed.dumps(arrays))

  def every_cell(self, change: Callable[[dict], None]) -> None:
    """Changes the outputs of all cells of two models, and their examples."""
    self.examples(change)
    for name in CONFIGS:
      for label in ("a", "b"):
        self.columns(change, name, label)

  def examples(self, change: Callable[[dict], None]) -> None:
    """Changes the facts of the examples, which all cells share."""
    (path,) = (self.folder / "examples").iterdir()
    arrays = packed.loads(path.read_bytes(), str(path))
    change(arrays)
    data = packed.dumps(arrays)
    digest = hashlib.sha256(data).hexdigest()
    path.unlink()
    (path.parent / f"{digest[:16]}.npz").write_bytes(data)

  def json(self, name: str, change: Callable[[dict], None]) -> None:
    """Changes a JSON file, without its checksum."""
    path = self.folder / name
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content, indent=1, sort_keys=True))

  def notes(self, change: Callable[[dict], None] = lambda note: None) -> None:
    """Changes all notes and makes them those of the files that are there."""
    (of_examples,) = (self.folder / "examples").iterdir()
    ids = packed.loads(of_examples.read_bytes(), "ids")
    text = json.dumps(ids["example_id"].tolist(), separators=(",", ":"))
    for path in self.folder.glob("cells/**/provenance.json"):
      note = json.loads(path.read_text())
      note["files"] = {"predictions.npz": file(path.parent / "predictions.npz")}
      note["examples"] = file(of_examples)
      rows = len(ids["example_id"])
      note["split"] |= {
        "rows": rows,
        "examples": rows,
        "ids": hashlib.sha256(text.encode()).hexdigest(),
        "labels": hashlib.sha256(
          ids["label"].astype("<i8").tobytes()
        ).hexdigest(),
      }
      change(note)
      path.write_text(json.dumps(with_checksum(note)))

  def table(self) -> None:
    """Writes the table that follows from the predictions."""
    rows = contents.read(self.folder).rows()
    (self.folder / "table.csv").write_text(table.dumps(rows))

  def manifest(self, change: Callable[[dict], None] = lambda m: None) -> None:
    """Makes the manifest that of the files that are there."""
    path = self.folder / manifest.FILE
    content = json.loads(path.read_text())
    content["files"] = {
      p.relative_to(self.folder).as_posix(): file(p)
      for p in self.folder.glob("**/*")
      if p.is_file() and p != path
    }
    change(content)
    path.write_text(json.dumps(with_checksum(content)))

  def config(self, change: Callable[[dict], None]) -> None:
    """Changes the config, and its checksum."""
    path = self.folder / "config.json"
    config = json.loads(path.read_text())
    change(config)
    config["checksum"] = records.checksum(config, spaces=True)
    path.write_text(json.dumps(config))

  def all_hashes(self) -> None:
    """Recomputes what follows from the predictions: notes, table, manifest."""
    self.notes()
    self.table()
    self.manifest()


def with_facts(tampered: Tampered, *, marks: bool = True, **facts) -> None:
  """Changes facts of the data in all notes and the manifest.

  Args:
    tampered: the submission.
    marks: whether fingerprints follow.
    **facts: name -> other value.
  """

  def change(note):
    note["data"] |= facts
    if marks:
      data = cell_facts.DataFacts(**note["data"])
      by = cell_facts.ModelFacts(**note["by"])
      note["fingerprint"] = cell_facts.fingerprint(
        data, by, note["config"], note["seed"]
      )

  def of_manifest(content):
    ((_, data),) = content["data"].items()
    data = {**data, **facts}
    content["data"] = {cell_facts.DataFacts(**data).hash: data}

  tampered.notes(change)
  tampered.table()
  tampered.manifest(of_manifest)


def file(path: pathlib.Path) -> dict:
  """What a note and a manifest say of a file."""
  data = path.read_bytes()
  return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def with_checksum(content: dict) -> dict:
  """A note or manifest with the checksum of its other fields."""
  rest = {k: v for k, v in content.items() if k != "checksum"}
  text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
  return {**rest, "checksum": hashlib.sha256(text.encode()).hexdigest()}


def pickled(path: pathlib.Path) -> None:
  """Replaces a cell's outputs by an array of Python objects."""
  with zipfile.ZipFile(path, "w") as archive:
    with archive.open("score.npy", "w") as out:
      objects = np.array([{"a": 1}], dtype=object)
      np.lib.format.write_array(out, objects, allow_pickle=True)
