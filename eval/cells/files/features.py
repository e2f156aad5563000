"""Files of layer features: `robust-tfds features` writes them, figures read them.

<folder>/<run>/<label>/<condition>.npz   example_id, label, and `layer.<name>`, float32
                                         `[examples, channels]`, a layer each
<folder>/<run>/classes.json              names of the classes, in label order
"""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Mapping, Sequence

import numpy as np
from etils import epath

from eval.cells import names
from robust_tfds import errors, reading
from robust_tfds.storage import disk

_LAYER = "layer."
_CLASSES = "classes.json"


@dataclasses.dataclass(frozen=True)
class Features:
  """The outputs of one model's layers under one condition.

  Attributes:
    run: the model's run.
    model: its label.
    condition: config name.
    example_id: texts `[N]`.
    label: int `[N]`, the true classes.
    layers: name -> float32 `[N, channels]`, in the network's order.
    classes: their names, in label order.
  """

  run: str
  model: str
  condition: str
  example_id: np.ndarray
  label: np.ndarray
  layers: Mapping[str, np.ndarray]
  classes: Sequence[str] = ()

  @property
  def title(self) -> str:
    """The model, run and condition in words."""
    return f"{self.model} ({self.run}), {self.condition}"

  def select(self, example_id: np.ndarray) -> Features:
    """Return the rows of these examples, in this order; all must be present."""
    order = np.argsort(self.example_id)
    rows = order[np.searchsorted(self.example_id, example_id, sorter=order)]
    return dataclasses.replace(
      self,
      example_id=self.example_id[rows],
      label=self.label[rows],
      layers={name: x[rows] for name, x in self.layers.items()},
    )

  def write(self, folder: epath.Path) -> epath.Path:
    """Write the file into the folder of its run and model; return its path."""
    run_folder = folder / names.folder_name(self.run)
    place = run_folder / names.folder_name(self.model)
    file, out = place / f"{self.condition}.npz", io.BytesIO()
    layers = {_LAYER + name: x for name, x in self.layers.items()}
    columns = {"example_id": self.example_id, "label": self.label}
    np.savez(out, allow_pickle=False, **columns, **layers)
    with disk.writing(folder):
      place.mkdir(parents=True, exist_ok=True)
      disk.write_bytes(file, out.getvalue())
      disk.write_text(run_folder / _CLASSES, json.dumps(list(self.classes)))
    return file


def read(folder: epath.Path) -> list[Features]:
  """Return all features of a folder, clean first.

  Raises:
    UserError: the folder has no features, or a file is damaged.
  """
  files = sorted(folder.glob("*/*/*.npz"), key=_order)
  if not files:
    raise errors.UserError(
      f"{folder}: no features. Record some: robust-tfds features --layers=NAME"
      f" --out={folder} RUN"
    )
  return [_read(file) for file in files]


def _order(file: epath.Path) -> tuple[str, bool, str]:
  return str(file.parent), file.stem != "clean", file.stem


def _read(file: epath.Path) -> Features:
  arrays = reading.npz_file(file)
  if not {"example_id", "label"} <= arrays.keys():
    raise errors.UserError(
      f"{file}: got the arrays {', '.join(arrays) or 'none'}, expected example_id,"
      " label and layers, as robust-tfds features writes them."
    )
  layers = {
    name.removeprefix(_LAYER): x
    for name, x in arrays.items()
    if name.startswith(_LAYER)
  }
  run = file.parent.parent
  return Features(
    *(run.name, file.parent.name, file.stem),
    arrays["example_id"],
    arrays["label"],
    layers,
    reading.json_file(run / _CLASSES),
  )
