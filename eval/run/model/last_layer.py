"""The fitting of a frozen network's last layer in a run, which is reused later.

Every picture passes through the network once, uncropped and unmirrored beyond the
set's own crop: its features are kept in memory, float32. The layer is then fitted
to them by softmax regression, seeded, in numpy. The defaults are the published
script's (hendrycks/robustness, old/auxiliary/ImageNet22K/train.py at e0377d4): SGD
with Nesterov's momentum 0.9, learning rate 0.01 falling by a cosine to 0, weight
decay 0.0005, batches of 128, one epoch, torch's first weights.

DEVIATION: the script draws a crop and a mirror image of every picture and has
dropout and batch statistics on; a network whose features are computed once has
none of these.

models/<label>/last_layer.npz    kernel, bias
models/<label>/last_layer.json   recipe, weights of the network, sha256 of the npz
"""

import hashlib
import io
import json
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from etils import epath

from eval.pipeline import inputs
from eval.run.execution import progress
from models import weights_file
from models.last_layer import HEAD, NETWORK, LastLayer
from robust_tfds import devices, errors, reading
from robust_tfds.storage import disk

_MOMENTUM, _DECAY = 0.9, 5e-4
Head = dict[str, np.ndarray]


def load_or_fit(
  model: LastLayer,
  recipe: Mapping[str, Any],
  network: Any,
  source: inputs.Source,
  folder: epath.Path,
) -> dict[str, Any]:
  """Return the model's variables; the layer is read from `folder`, else fitted.

  Args:
    model: the model that the last layer belongs to.
    recipe: `split`, `epochs`, `learning_rate`, `batch_size` and `seed`.
    network: the network's variables.
    source: the examples of the split.
    folder: the model's folder in the workdir.

  Raises:
    UserError: the folder holds a layer of another recipe, network or set, or a
      damaged one; features or labels that cannot be fitted.
  """
  facts = {
    **recipe,
    "set": f"{source.builder.info.full_name}, {source.total} examples",
    "network": weights_file.sha256(network),
  }
  head = _stored(folder, facts)
  if head is None:
    progress.say(
      f"fitting the last layer of {model.name} to {source.total:,} examples of"
      f" {source.split}"
    )
    features, labels = _features(model, network, source)
    _check(model, features, labels)
    head = fit(features, labels, model.spec.num_classes, recipe)
    _store(folder, facts, head)
  return {NETWORK: network, HEAD: head}


def fit(
  features: np.ndarray,
  labels: np.ndarray,
  classes: int,
  recipe: Mapping[str, Any],
) -> Head:
  """Fit softmax regression by stochastic gradients.

  Args:
    features: float32 `[N, width]`.
    labels: int `[N]`.
    classes: how many there are.
    recipe: `epochs`, `learning_rate`, `batch_size` and `seed`.

  Returns:
    `kernel`, float32 `[width, classes]`, and `bias`, float32 `[classes]`.
  """
  rng = np.random.default_rng(recipe["seed"])
  count, width = features.shape
  reach = 1 / np.sqrt(width)  # torch.nn.Linear
  weights = rng.uniform(-reach, reach, (width + 1, classes)).astype(np.float32)
  speed, size = np.zeros_like(weights), recipe["batch_size"]
  steps = recipe["epochs"] * -(-count // size)
  for step in range(steps):
    place = step % -(-count // size)
    if place == 0:
      order = rng.permutation(count)
    rows = order[place * size : (place + 1) * size]
    gradient = _gradient(weights, features[rows], labels[rows])
    gradient += _DECAY * weights
    speed = _MOMENTUM * speed + gradient
    rate = recipe["learning_rate"] * (1 + np.cos(np.pi * step / steps)) / 2
    weights -= np.float32(rate) * (gradient + _MOMENTUM * speed)
  return {"kernel": weights[:-1], "bias": weights[-1]}


def _gradient(
  weights: np.ndarray, features: np.ndarray, labels: np.ndarray
) -> np.ndarray:
  """Return the gradient of the mean cross-entropy, `[width + 1, classes]`."""
  logits = features @ weights[:-1] + weights[-1]
  shares = np.exp(logits - logits.max(axis=1, keepdims=True))
  shares /= shares.sum(axis=1, keepdims=True)
  shares[np.arange(len(labels)), labels] -= 1
  shares /= len(labels)
  return np.concatenate([features.T @ shares, shares.sum(axis=0)[None]])


def _features(
  model: LastLayer, network: Any, source: inputs.Source
) -> tuple[np.ndarray, np.ndarray]:
  """Compute features `[N, width]` and labels `[N]` on this host's devices."""
  mesh = devices.mesh(jax.local_devices())
  variables = devices.put_replicated(network, mesh)
  compute = jax.jit(model.features)
  features, labels = [], []
  for batch in source.batches():
    given = compute(variables, devices.put_batch(batch.image, mesh))
    features.append(np.asarray(given)[batch.mask])
    labels.append(batch.label[batch.mask])
  return np.concatenate(features), np.concatenate(labels)


def _check(model: LastLayer, features: np.ndarray, labels: np.ndarray) -> None:
  if not np.isfinite(features).all():
    raise errors.UserError(
      f"{model.name}: its features are NaN or infinite for"
      f" {int((~np.isfinite(features)).any(axis=1).sum()):,} of {len(features):,}"
      " pictures: no layer can be fitted to them."
    )
  lacking = set(range(model.spec.num_classes)) - set(labels.tolist())
  if lacking:
    progress.say(
      f"no example of {len(lacking)} of {model.spec.num_classes} classes: they"
      " are never answered"
    )


def _store(folder: epath.Path, facts: Mapping[str, Any], head: Head) -> None:
  out = io.BytesIO()
  np.savez(out, allow_pickle=False, **head)  # type: ignore[arg-type]
  with disk.writing(folder):
    folder.mkdir(parents=True, exist_ok=True)
    disk.write_bytes(folder / "last_layer.npz", out.getvalue())
  record = {"recipe": dict(facts), "sha256": _sha256(out.getvalue())}
  text = json.dumps(record, indent=1, sort_keys=True) + "\n"
  disk.write_text(folder / "last_layer.json", text)


def _stored(folder: epath.Path, facts: Mapping[str, Any]) -> Head | None:
  """Return the layer of the same recipe; None where none was fitted."""
  note, file = folder / "last_layer.json", folder / "last_layer.npz"
  if not disk.exists(note):
    return None
  record = reading.json_file(note)
  if not isinstance(record, Mapping) or record.get("recipe") != dict(facts):
    raise errors.UserError(
      f"{note}: a last layer of another recipe, network or set: {record} there,"
      f" {dict(facts)} now. Use another --workdir or delete that file."
    )
  if not disk.exists(file) or _sha256(file.read_bytes()) != record.get(
    "sha256"
  ):
    raise errors.UserError(
      f"{file}: it was changed or removed after it was written. Delete {note} to"
      " fit it again, or use another --workdir."
    )
  return reading.npz_file(file)


def _sha256(data: bytes) -> str:
  return hashlib.sha256(data).hexdigest()
