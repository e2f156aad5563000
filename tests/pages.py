"""Pages of docs and notebooks, as who copies their blocks has them."""

import importlib
import json
import pathlib
import re
import types
from typing import Any

from robust_tfds import __main__, layout

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
_FILE = re.compile(r"# (\w+\.py)\n")


def blocks(text: str) -> list[tuple[str, str]]:
  """(language, text) of each block of a page."""
  return _BLOCK.findall(text)


def sections(page: str) -> dict[str, list[tuple[str, str]]]:
  """Heading -> (language, text) of each of its blocks; headings without leave."""
  text = (_ROOT / "docs" / page).read_text("utf-8")
  parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)[1:]
  found = {h: blocks(t) for h, t in zip(parts[::2], parts[1::2])}
  return {heading: listed for heading, listed in found.items() if listed}


def file_name(block: str) -> str:
  """Of a block that is a file, which its first line names; else empty."""
  match = _FILE.match(block)
  return match[1] if match else ""


def command(name: str) -> types.ModuleType:
  """The module of a command of `robust-tfds`."""
  path = __main__.COMMANDS[name].removesuffix(".py").replace("/", ".")
  place = path if path.split(".")[0] in layout.NAMES else f"robust_tfds.{path}"
  return importlib.import_module(place)


def run_notebook(name: str) -> dict[str, Any]:
  """What the names stand for after a notebook's cells ran, but its install cell."""
  text = (_ROOT / "notebooks" / name).read_text("utf-8")
  names: dict[str, Any] = {}
  for cell in json.loads(text)["cells"]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "code" and "%pip" not in source:
      exec(compile(source, f"{name} {cell['id']}", "exec"), names)
  return names
