"""Files of transformers in the layouts of their publishers, and references."""

import numpy as np

from tests.models.convert import names, torchvision_cpu

_TOLERANCE = 1e-5  # of the logits' scale
_QKV = ("query", "key", "value")


def tensors(arrays):
  """name -> array as name -> tensor."""
  torch = torchvision_cpu.package("torch")
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
  transformers = torchvision_cpu.package("transformers")
  network = vars(transformers).get(architecture) or getattr(
    transformers, architecture
  )
  return network(network.config_class(**options)).eval()


def randomised(module) -> dict[str, np.ndarray]:
  """Draws all arrays of a torch module; its state dict as numpy arrays."""
  torch = torchvision_cpu.package("torch")
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
  torch = torchvision_cpu.package("torch")
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
  flat: dict, heads: int, publisher: str = "google vit"
) -> dict[str, np.ndarray]:
  """Our variables of a ViT as a JAX program writes them.

  Args:
    flat: path -> array.
    heads: of an attention.
    publisher: whose names, of names.tsv.
  """
  out = {}
  paths = {"/".join(path): array for path, array in flat.items()}
  for name, array in names.arrays(paths, publisher).items():
    stem, _, leaf = name.rpartition("/")
    if stem.endswith("qkv"):
      for which, part in zip(_QKV, np.split(array, 3, -1), strict=True):
        part = part.reshape(*array.shape[:-1], heads, -1)
        out[f"{stem[:-3]}{which}/{leaf}"] = part
    elif name.endswith("out/kernel"):
      out[name] = array.reshape(heads, -1, array.shape[-1])
    else:
      out[name] = array
  return out


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
