"""Durations in words."""


def text(seconds: float) -> str:
  """Return a short duration, as CLU writes it.

  >>> text(5023), text(83), text(7.4), text(200_000)
  ('1h23m', '1m23s', '7s', '2d7h')
  """
  whole = max(int(round(seconds)), 0)
  if whole >= 86400:
    return f"{whole // 86400}d{whole % 86400 // 3600}h"
  if whole >= 3600:
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
  if whole >= 60:
    return f"{whole // 60}m{whole % 60:02d}s"
  return f"{whole}s"
