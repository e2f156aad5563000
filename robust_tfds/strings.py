"""Strings of TFDS's examples: bytes of NumPy's, or Python's own."""

from typing import Any


def text(value: Any) -> str:
  """Return a string, whether TFDS gave bytes or str.

  >>> text(b"fog"), text("fog")
  ('fog', 'fog')
  """
  return value.decode("utf-8") if isinstance(value, bytes) else str(value)
