"""The metrics: NumPy arrays in, floats out; a file is a family, loaded when used.

>>> from robust_tfds import metrics
>>> metrics.stability.flip_probability([[7, 7, 2, 2], [1, 1, 1, 1]])
0.16666666666666666
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
  from eval.metrics import action as action
  from eval.metrics import calibration as calibration
  from eval.metrics import cka as cka
  from eval.metrics import corruption_error as corruption_error
  from eval.metrics import detection as detection
  from eval.metrics import intervals as intervals
  from eval.metrics import natural_breakdowns as natural_breakdowns
  from eval.metrics import natural_labels as natural_labels
  from eval.metrics import pm_k as pm_k
  from eval.metrics import purity as purity
  from eval.metrics import segmentation as segmentation
  from eval.metrics import stability as stability

__all__ = (
  "action",
  "calibration",
  "cka",
  "corruption_error",
  "detection",
  "intervals",
  "natural_breakdowns",
  "natural_labels",
  "pm_k",
  "purity",
  "segmentation",
  "stability",
)


def __getattr__(name: str) -> ModuleType:
  """Load a family."""
  if name not in __all__:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
  return importlib.import_module(f"{__name__}.{name}")
