"""Files of transformers in the layouts of their publishers, and references."""

import importlib

import numpy as np
from absl.testing import absltest

from tests.models.convert import torchvision_cpu

_TOLERANCE = 1e-5  # of the logits' scale
_QKV = ("query", "key", "value")
_FLAX_NAMES = {
  "cls_token": "cls",
  "patch_embed.proj": "embedding",
  "norm": "Transformer/encoder_norm",
  "mlp.fc1": "MlpBlock_{1}/Dense_0",
  "mlp.fc2": "MlpBlock_{1}/Dense_1",
  "norm1": "LayerNorm_0",
  "norm2": "LayerNorm_{2}",
  "head": "head",
}


def package(name: str):
  """A package with torch; skips the test where one of them is missing."""
  try:
    importlib.import_module("torch")
    torchvision_cpu.define()
    return importlib.import_module(name)
  except ImportError as error:
    raise absltest.unittest.SkipTest(f"Not installed: {error}") from error


def tensors(arrays):
  """name -> array as name -> tensor."""
  torch = package("torch")
  return {
    n: torch.from_numpy(np.ascontiguousarray(a)) for n, a in arrays.items()
  }


def moderate(flat: dict) -> dict:
  """Drawn variables whose answers neither vanish nor overflow."""
  out = {}
  for path, array in flat.items():
    if array.ndim > 1 and path[-1] == "kernel":
      array = array / np.sqrt(array.size / array.shape[-1])
    else:
      array = 0.1 * array + (path[-1] == "scale")
    out[path] = array.astype(np.float32)
  return out


def hf(architecture: str, **options):
  """A network of transformers in evaluation mode; its weights are its own."""
  transformers = package("transformers")
  network = vars(transformers).get(architecture) or getattr(
    transformers, architecture
  )
  return network(network.config_class(**options)).eval()


def randomised(module) -> dict[str, np.ndarray]:
  """Draws all arrays of a torch module; its state dict as numpy arrays."""
  torch = package("torch")
  rng = np.random.default_rng(0)
  for name, value in module.state_dict().items():
    if not value.is_floating_point():
      continue  # batches that training has seen
    new = 0.1 * rng.standard_normal(value.shape)
    if value.ndim > 1 and min(value.shape[:2]) > 1:
      new = new * 10 / np.sqrt(value[0].numel())
    elif name.endswith(("weight", "lambda1", "gamma")):
      new = 1 + new
    elif name.endswith("running_var"):
      new = 1 + np.abs(new)
    value.copy_(torch.from_numpy(np.asarray(new, np.float32)))
  return {n: t.numpy() for n, t in module.state_dict().items()}


def pixels(side: int) -> np.ndarray:
  """float32 `[2, side, side, 3]`, seeded."""
  rng = np.random.default_rng(1)
  return rng.standard_normal((2, side, side, 3), np.float32)


def answer(module, batch: np.ndarray) -> np.ndarray:
  """Logits of a torch module; of HF's their field."""
  torch = package("torch")
  with torch.no_grad():
    out = module(
      torch.from_numpy(np.ascontiguousarray(batch.transpose(0, 3, 1, 2)))
    )
  return (out if isinstance(out, torch.Tensor) else out.logits).numpy()


def assert_parity(case, got: np.ndarray, want: np.ndarray) -> None:
  """Close, and not because all answers are alike."""
  scale = np.abs(want).max()
  print(f"{case.id()}: {np.abs(got - want).max() / scale:.1e} of {scale:.2f}")
  case.assertGreater(np.abs(want[0] - want[1]).max(), 1e-3 * scale)
  case.assertLessEqual(np.abs(got - want).max(), _TOLERANCE * scale)


def as_flax(
  flat: dict,
  heads: int,
  prefix: str = "",
  positions: str = "Transformer/posembed_input/pos_embedding",
  counts: tuple[int, int] = (1, 3),
) -> dict[str, np.ndarray]:
  """Our variables of a ViT as a JAX program writes them.

  Args:
    flat: path -> array.
    heads: of an attention.
    prefix: of all names.
    positions: name of the positions.
    counts: numbers in the names of attentions and of MLPs.
  """
  out = {}
  for path, array in flat.items():
    name = _flax_name(path, positions, counts)
    stem, _, leaf = name.rpartition("/")
    if stem.endswith("qkv"):
      for which, part in zip(_QKV, np.split(array, 3, -1), strict=True):
        part = part.reshape(*array.shape[:-1], heads, -1)
        out[f"{prefix}{stem[:-3]}{which}/{leaf}"] = part
    elif name.endswith("out/kernel"):
      out[prefix + name] = array.reshape(heads, -1, array.shape[-1])
    else:
      out[prefix + name] = array
  return out


def _flax_name(path, positions, counts) -> str:
  if path == ("pos_embed",):
    return positions
  if len(path) == 1:
    return _FLAX_NAMES[path[0]]
  *parents, leaf = path
  block = ""
  if parents[0] == "blocks":
    block, parents = f"Transformer/encoderblock_{parents[1]}/", parents[2:]
  stem = ".".join(parents)
  attention, mlp = counts
  if parents[0] == "attn":
    which = {"qkv": "qkv", "proj": "out"}[parents[1]]
    return f"{block}MultiHeadDotProductAttention_{attention}/{which}/{leaf}"
  after = 2 if mlp else 1
  return block + _FLAX_NAMES[stem].format("", mlp, after) + f"/{leaf}"


def stacked(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
  """With one array for all blocks, as big_vision's `scan` writes them."""
  out, blocks = {}, {}
  for name, array in arrays.items():
    stem, _, rest = name.partition("encoderblock_")
    if not rest:
      out[name] = array
      continue
    blocks.setdefault(
      f"{stem}encoderblock/{rest.partition('/')[2]}", []
    ).append(array)
  return out | {name: np.stack(rows) for name, rows in blocks.items()}
