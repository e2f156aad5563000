"""Chromium and axe-core for tests, where they are installed.

Chromium is the system's (`/usr/bin/chromium`, or what ROBUST_TFDS_CHROMIUM names).
axe-core is `axe.min.js` in the folder that ROBUST_TFDS_AXE names, or in the
`node_modules` of the home, of the working folder or of /tmp/axe; it comes by
`npm install axe-core` and is no part of the project.
"""

import os
import pathlib
import shutil

_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_MODULES = (pathlib.Path.home(), pathlib.Path.cwd(), pathlib.Path("/tmp/axe"))


def missing() -> str:
  """Why no browser can be started; empty where one can."""
  try:
    import playwright.sync_api  # noqa: F401
  except ImportError:
    return "playwright is not installed: pip install playwright"
  if not chromium():
    return "no Chromium is installed: apt-get install chromium"
  return ""


def chromium() -> str:
  """Path of Chromium; empty where there is none."""
  named = os.environ.get("ROBUST_TFDS_CHROMIUM", "")
  paths = [named, *(shutil.which(name) or "" for name in _CHROMIUM)]
  return next((p for p in paths if p and pathlib.Path(p).exists()), "")


def axe() -> str:
  """The source of axe-core; empty where it is not installed."""
  folders = [root / "node_modules" / "axe-core" for root in _MODULES]
  named = os.environ.get("ROBUST_TFDS_AXE")
  if named:
    folders.insert(0, pathlib.Path(named))
  files = [folder / "axe.min.js" for folder in folders]
  for file in files:
    if file.is_file():
      return file.read_text("utf-8")
  return ""
