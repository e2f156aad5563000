"""torchvision's compiled operators, for tests that hold ours against them."""

import importlib
from typing import Any

import pytest


def torchvision() -> tuple[Any, Any]:
  """torch and `torchvision.ops`; skips where the operators do not load."""
  torch = pytest.importorskip("torch")
  try:
    ops = importlib.import_module("torchvision.ops")
    extension = importlib.import_module("torchvision.extension")
    extension._assert_has_ops()
  except (ImportError, RuntimeError) as e:
    pytest.skip(f"torchvision's operators do not load: {str(e)[:80]}")
  return torch, ops
