"""The files that a conversion writes: an npz, its sha256, a report."""

import hashlib
import json
from typing import Any

import numpy as np
from etils import epath

from models import variables as variables_lib
from models.convert import match, sources
from models.model import Classifier
from models.variables import Variables
from robust_tfds import errors
from robust_tfds.storage import npz, paths


def write_npz(variables: Variables, out: epath.Path) -> str:
  """Write the variables as an npz, the same bytes each time, and return its sha256."""
  flat = {
    "/".join(path): np.asarray(array)
    for path, array in variables_lib.flatten(variables).items()
  }
  npz_path(out).parent.mkdir(parents=True, exist_ok=True)
  data = npz.archived(flat)
  digest = hashlib.sha256(data).hexdigest()
  paths.write_bytes(out, data)
  out.with_name(f"{out.name}.sha256").write_text(
    f"{digest}  {out.name}\n", "utf-8"
  )
  return digest


def npz_path(out: epath.Path) -> epath.Path:
  """Return a path that ends in .npz; refuse another one."""
  if out.suffix != ".npz":
    raise errors.UserError(f"Got {out}, expected a name ending in .npz.")
  return out


def write_report(
  located: sources.Located,
  loaded: match.Loaded,
  digest: str,
  out: epath.Path,
  *,
  head: sources.Located | None = None,
) -> str:
  """Write OUT.report.json and return its summary in words."""
  model = loaded.model
  facts: dict[str, Any] = {
    "model": model.name,
    "checkpoint": located.path.name,
    "checkpoint_source": located.name,
    "checkpoint_sha256": _sha256(located.path),
    "head_sha256": _sha256(head.path) if head else None,
    "style": loaded.style,
    "arrays": len(loaded.sources),
    "ignored": list(loaded.ignored),
    "parameters": model.count_parameters(),
    "published_parameters": model.spec.parameters,
    "npz_sha256": digest,
    "spec_fields": dict(loaded.declared.fields),
    "doubt": loaded.declared.doubt,
    "parity": (
      "not measured: the head is of another file"
      if head
      else _parity(located.path, loaded)
    ),
    "sources": dict(loaded.sources),
  }
  out.with_name(f"{out.name}.report.json").write_text(
    json.dumps(facts, indent=2) + "\n", "utf-8"
  )
  return (
    f"{out}: {facts['arrays']} arrays ({facts['parameters']:,} parameters,"
    f" published {facts['published_parameters']}), style {loaded.style},"
    f" sha256 {digest[:12]}, parity: {facts['parity']}"
  )


def _parity(
  checkpoint: epath.Path, loaded: match.Loaded
) -> dict[str, Any] | str:
  """Return max |d| of our logits to the reference's, or why it was not measured."""
  from models.convert import oracle

  model = loaded.model
  if loaded.style == match.NATIVE:
    return "not measured: the file has our own names, the reference has others"
  try:
    reference = oracle.build(model)
    if reference is None or not isinstance(model, Classifier):
      return f"not measured: no reference of {model.name} runs here"
    return oracle.compare(model, loaded, reference, checkpoint)
  except (ImportError, RuntimeError) as error:
    reason = (str(error).splitlines() or [type(error).__name__])[0][:120]
    return f"not measured: {reason}"


def _sha256(path: epath.Path) -> str:
  if path.is_dir():
    return "directory"
  return paths.sha256(path)
