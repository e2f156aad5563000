"""Adaptation methods against the authors' own code, batch by batch.

`ROBUST_TFDS_GOLDEN_ADAPTATION` names another folder of the same layout. Its README
says how the expected values were made.
"""

import contextlib
import dataclasses
import functools
import json
import os
import unittest

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized
from flax import nnx

from models import adaptation, spec
from models import model as model_lib
from models import variables as variables_lib
from models.adaptation import network as network_lib
from tests import shared_data

FOLDER = shared_data.folder_of_goldens("adaptation")
_EXACT = 1e-9  # float64
# The fast suite compiles otherwise. The last bit decides where a ReLU's input is
# 0 but for float32's rounding, e.g. 3e-6 in batch 0 of tent_adam_continual.
_AS_USERS = {"xla_backend_optimization_level": 3}
_NAMES = {
  "norm": "bn",
  "bn_bayes": "bn_alpha",
  "bn_ema_md": "bn_ema",
  "bn_cumulative_b": "bn_cumulative",
  "cotta_imagenet": "cotta",
}


class _GroupNorm(nnx.GroupNorm):
  """A group norm that sums an axis at a time: flax's loses a digit in float32."""

  def __call__(self, x):
    groups = x.reshape(*x.shape[:3], self.num_groups, -1)
    centred = groups - _mean(groups)
    normal = centred / jnp.sqrt(_mean(centred**2) + self.epsilon)
    return normal.reshape(x.shape) * self.scale[...] + self.bias[...]


def _mean(groups):
  for axis in (4, 2, 1):
    groups = groups.mean(axis, keepdims=True)
  return groups


class _Block(nnx.Module):
  """A convolution and a norm, as torch's modules `conv` and `bn` or `gn`."""

  def __init__(self, arrays, prefix, conv, norm, stride, dtype):
    kernel = arrays[f"{conv}.weight"].transpose(2, 3, 1, 0)
    self.conv = nnx.Conv(
      *kernel.shape[2:],
      (3, 3),
      strides=stride,
      padding=1,
      use_bias=False,
      dtype=dtype,
      param_dtype=dtype,
      precision="highest",
      kernel_init=nnx.initializers.zeros,
      rngs=nnx.Rngs(0),
    )
    self.conv.kernel = nnx.Param(jnp.asarray(kernel, dtype))
    channels = kernel.shape[-1]
    options = {"epsilon": 1e-5, "dtype": dtype, "rngs": nnx.Rngs(0)}
    if norm.endswith("bn") or norm == "bn1":
      self.norm = nnx.BatchNorm(channels, use_running_average=True, **options)
      for name, torch in (("mean", "running_mean"), ("var", "running_var")):
        value = jnp.asarray(arrays[f"{norm}.{torch}"], dtype)
        setattr(self.norm, name, nnx.BatchStat(value))
    else:
      groups = 2 if norm == "gn1" else 4
      self.norm = _GroupNorm(channels, groups, **options)
    _affine(self.norm, arrays, norm, dtype)

  def __call__(self, x):
    return nnx.relu(self.norm(self.conv(x)))


def _affine(layer, arrays, name, dtype):
  layer.scale = nnx.Param(jnp.asarray(arrays[f"{name}.weight"], dtype))
  layer.bias = nnx.Param(jnp.asarray(arrays[f"{name}.bias"], dtype))


class _Network(nnx.Module):
  """The goldens' network; its paths are torch's names with other separators."""

  def __init__(self, arrays, norm, dtype):
    block = functools.partial(_Block, arrays, dtype=dtype)
    self.stem = block("", "conv1", f"{norm}1", 2)
    for layer, stride in (("layer1", 2), ("layer2", 1), ("layer4", 2)):
      made = block(layer, f"{layer}.conv", f"{layer}.{norm}", stride)
      setattr(self, layer, made)
    self.ln = nnx.data(None)
    if norm == "gn":
      self.ln = nnx.LayerNorm(
        16,
        epsilon=1e-5,
        use_fast_variance=False,
        dtype=dtype,
        rngs=nnx.Rngs(0),
      )
      _affine(self.ln, arrays, "ln", dtype)
    self.kernel = nnx.Param(jnp.asarray(arrays["fc.weight"].T, dtype))
    self.bias = nnx.Param(jnp.asarray(arrays["fc.bias"], dtype))

  def __call__(self, x):
    x = self.layer1(self.stem(x))
    x = self.layer4(x + self.layer2(x)).mean((1, 2))
    if self.ln is not None:
      x = self.ln(x)
    return jnp.matmul(x, self.kernel[...], precision="highest") + self.bias[...]


@dataclasses.dataclass(frozen=True)
class _Golden(model_lib.Model):
  """The network as a model that computes in a dtype of one's choice."""

  graph: nnx.GraphDef
  dtype: str

  def init(self, key):
    raise NotImplementedError

  def apply(self, variables, batch):
    return self.answer(self.merge(variables), self.pixels(batch))

  def pixels(self, batch):
    # By a table: XLA would multiply by 1 / 255, which is rounded.
    levels = jnp.asarray(np.arange(256) / 255, self.dtype)
    return levels[jnp.asarray(batch)]

  def merge(self, variables):
    return nnx.merge(self.graph, variables)


def _torch_name(path, norm):
  """Return torch's name of a path of `_Network`."""
  path = path.replace("stem/conv", "conv1").replace("stem/norm", f"{norm}1")
  path = path.replace("/norm/", f"/{norm}/").replace("/", ".")
  if path in ("kernel", "bias"):
    return {"kernel": "fc.weight", "bias": "fc.bias"}[path]
  return path.replace("kernel", "weight").replace("scale", "weight")


def _model(case, dtype):
  """Return the model and its variables of a case."""
  with np.load(FOLDER / f"weights_{case['net']}.npz") as file:
    arrays = {name: file[name].astype(np.float64) for name in file.files}
  for name in ("fc.weight", "fc.bias"):
    arrays[name] = arrays[name] * case.get("fc_scale", 1)
  made = _Network(arrays, case["net"], dtype)
  graph, state = nnx.split(made)
  small = spec.Spec(input_px=32, num_classes=10)
  return _Golden("golden", small, graph, dtype), state


def _method(case, model):
  """Return the method of a case with its hyperparameters."""
  keys = ("alpha", "e_margin", "d_margin", "fisher_alpha", "rho", "steps")
  options = {key: case[key] for key in keys if key in case}
  if case["method"] == "bn_bayes":
    options = {"prior": case["N"], "batch_size": 16}
  if case["method"].startswith("cotta"):
    symmetric = case["method"] == "cotta_imagenet"
    options = {
      "teacher_momentum": case["mt"],
      "restored": case["rst"],
      "confidence": case["ap"],
      "loss": "symmetric" if symmetric else "teacher",
    }
  if "optim" in case:
    given = case["optim"]
    options["optimizer"] = {
      "kind": given["method"].lower(),
      "learning_rate": given["lr"],
      "momentum": given.get("momentum", 0.0),
      "nesterov": given.get("nesterov", False),
    }
  name = _NAMES.get(case["method"], case["method"])
  return adaptation.get(name)(model, **options)


def _draws(case, stored, images, batch, weights):
  """Return given views and masks of CoTTA; None for other methods."""
  if not case["method"].startswith("cotta"):
    return None
  bits = np.unpackbits(stored["restore_mask_packed"][batch])
  masks, start = {}, 0
  shapes = {}
  for path, value in weights.items():
    shapes[_torch_name(path, case["net"])] = path, value.shape
  for name in case["restore_mask_order"]:
    path, shape = shapes[name]
    size = int(np.prod(shape))
    mask = bits[start : start + size].astype(bool)
    start += size
    if len(shape) == 4:  # OIHW
      height, width, inputs, outputs = shape
      mask = mask.reshape(outputs, inputs, height, width).transpose(2, 3, 1, 0)
    elif len(shape) == 2:
      mask = mask.reshape(shape[::-1]).T
    masks[path] = mask
  if "views_flip_dy_dx" not in stored:
    return {"restored": masks}
  views = []
  for flip, down, across in stored["views_flip_dy_dx"][batch]:
    turned = images[:, :, ::-1] if flip else images
    views.append(np.roll(turned, (down, across), (1, 2)))
  return {"restored": masks, "views": np.stack(views)}


def _worst(case, dtype):
  """Run a case: the worst differences of logits by batch, and of weights."""
  model, variables = _model(case, dtype)
  method = _method(case, model)
  with np.load(FOLDER / case["inputs"]) as file:
    inputs = {name: file[name] for name in file.files}
  with np.load(FOLDER / case["file"]) as file:
    stored = {name: file[name] for name in file.files}
  manifest = json.loads((FOLDER / "manifest.json").read_text())
  stream = manifest["streams"][f"seed{case['seed']}/{case['stream']}"]
  clean = None
  if method.needs_clean:
    ends = np.cumsum(inputs["fisher_batch_sizes"])[:-1]
    clean = np.split(inputs["fisher_x"], ends)
  state = method.init(variables, clean)
  step = jax.jit(method.step, compiler_options=_AS_USERS)
  differences, last, start = [], None, 0
  affine = 0.0
  for batch, size in enumerate(stream["batch_sizes"]):
    condition = stream["condition_of_batch"][batch]
    images = inputs[f"{case['stream']}_x"][start : start + size]
    if case["setting"] == "reset_each" and last not in (None, condition):
      new = case.get("reset_by") == "new"
      state = method.renew(state) if new else method.reset(state)
    if case.get("per_batch_reset"):
      state = method.reset(state)
    weights = state["weights"]
    draws = _draws(case, stored, images, batch, weights)
    logits, state = step(state, images, jax.random.key(0), draws)
    expected = stored["logits"][start : start + size]
    differences.append(float(np.abs(np.asarray(logits) - expected).max()))
    affine = max(affine, _affine_difference(case, state, stored, batch))
    last, start = condition, start + size
  return differences, affine


def _affine_difference(case, state, stored, batch):
  """Return the worst difference of the norms' affine weights after a batch."""
  variables = network_lib.put(state["variables"], state["weights"])
  flat = variables_lib.flatten(variables)
  by_name = {
    _torch_name("/".join(path).removesuffix("/value"), case["net"]): value
    for path, value in flat.items()
  }
  expected, worst, start = stored["affine_after_each_batch"][batch], 0.0, 0
  for entry in case["affine_order"]:
    name = entry.split(":")[0].replace(".layer.", ".")
    found = np.asarray(by_name[name])
    want = expected[start : start + found.size]
    worst = max(worst, float(np.abs(found - want).max()))
    start += found.size
  return worst


def _cases():
  if not (FOLDER / "manifest.json").exists():
    return []
  return json.loads((FOLDER / "manifest.json").read_text())["cases"]


def _quick(cases):
  """Return a case of two methods; all of a folder that is named."""
  if os.environ.get("ROBUST_TFDS_GOLDEN_ADAPTATION"):
    return cases
  return [
    c for c in cases if c["name"] in ("bn_alpha_0.1", "tent_adam_continual")
  ]


class GoldenAdaptationTest(parameterized.TestCase):
  """The cases of the folder, in float64 and in float32."""

  @parameterized.parameters("float64", "float32")
  def test_quick(self, dtype):
    self._check(_quick(_cases()), dtype)

  @parameterized.parameters("float64", "float32")
  @pytest.mark.slow
  def test_every_case(self, dtype):
    self._check(_cases(), dtype)

  def _check(self, cases, dtype):
    if not cases:
      raise unittest.SkipTest(f"no golden values in {FOLDER}")
    exact = dtype == "float64"
    with jax.enable_x64(True) if exact else contextlib.nullcontext():
      for case in cases:
        with self.subTest(case["name"]):
          differences, affine = _worst(case, dtype)
          print(f"{dtype} {case['name']}: {max(differences):.1e} {affine:.1e}")
          if exact:
            self.assertLess(max(differences), _EXACT)
            self.assertLess(affine, _EXACT)
            continue
          bounds = case["float32_max_abs_logit_by_batch"]
          least = case["float32_max_abs_logit"]
          for got, bound in zip(differences, bounds, strict=True):
            self.assertLess(got, 3 * max(bound, least))
          self.assertLessEqual(affine, 3 * case["float32_max_abs_affine"])


if __name__ == "__main__":
  absltest.main()
