"""Our classifiers beside torch's, in one process on one core.

  pip install -e '.[convert]'
  python -m benchmarks.models                    # six networks, < 5 min
  python -m benchmarks.models --names=resnet50 --batch=8

Float32, the same random weights, preprocessed pixels that lie in memory; the
references are those of parity reports (`models.convert.oracle`: torchvision's
modules and timm's), which torch runs in inference mode. Calls alternate, and the
least CPU time of each counts, so that other work on the machine changes little.
Prints images/s of both, the ratio (above 1: we are faster) and our time to
compile.

--routes adds a torch module of the same network taken through
`models.adapters.get("torch")` by each of its routes.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from absl import flags

from models.convert import match, oracle
from robust_tfds import command, errors, models

Call = Callable[[], Any]


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_list(
    "names",
    [
      "resnet50",
      "resnext50_32x4d",
      "convnext_tiny",
      "vit_b_16",
      "mobilenet_v3_large",
      "efficientnet_lite0",
    ],
    "Classifiers.",
  )
  flags.DEFINE_integer("batch", 4, "Pictures of a call.", lower_bound=1)
  flags.DEFINE_integer("rounds", 10, "Calls of each.", lower_bound=1)
  flags.DEFINE_bool("routes", False, "The routes of torch modules as well.")


def own(model: Any, module: Any, pixels: np.ndarray) -> tuple[Call, float]:
  """Return a call of our network, and the seconds to compile it.

  Args:
    model: ours.
    module: torch's, whose weights ours gets.
    pixels: float32 `[B, H, W, 3]`.
  """
  arrays = {n: t.numpy() for n, t in module.state_dict().items()}
  loaded = match.match_arrays(model, arrays)
  placed = jax.device_put((loaded.variables, pixels))
  start = time.perf_counter()
  program = jax.jit(model.apply).lower(*placed).compile()
  seconds = time.perf_counter() - start
  return lambda: program(*placed).block_until_ready(), seconds


def reference(model: Any) -> Any:
  """Return the torch module with random weights.

  Raises:
    UserError: the model's family names none.
  """
  module = oracle.build(model)
  if module is None:
    raise errors.UserError(
      f"--names: {model.name} has no reference in torch to be compared with."
    )
  return module


def torchs(module: Any, pixels: np.ndarray) -> Call:
  """Return a call of a torch module."""
  import torch

  nchw = torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)))

  def call() -> None:
    with torch.inference_mode():
      module(nchw)

  return call


def routes(module: Any, model: Any, pixels: np.ndarray) -> dict[str, Call]:
  """Return a call of the module through each route of the adapter."""
  calls: dict[str, Call] = {}
  for route in ("traced", "host"):
    adapted = models.adapters.get("torch")(
      module, model.spec, name=model.name, route=route
    )
    calls[route] = _adapted(adapted, pixels)
  return calls


def _adapted(adapted: Any, pixels: np.ndarray) -> Call:
  """Return a call of an adapted model on bytes, which it preprocesses."""
  batch = np.clip(128 + 40 * pixels, 0, 255).astype(np.uint8)
  variables = adapted.init(jax.random.key(0))
  if adapted.on_host:
    return lambda: adapted.apply(variables, batch)
  program = jax.jit(adapted.apply).lower(variables, batch).compile()
  placed = jax.device_put((variables, batch))
  return lambda: program(*placed).block_until_ready()


def least(calls: Mapping[str, Call], rounds: int) -> dict[str, float]:
  """Return the least CPU seconds of each call; calls alternate."""
  times: dict[str, list[float]] = {name: [] for name in calls}
  for _ in range(rounds + 1):  # the first warms up
    for name, call in calls.items():
      start = time.process_time()
      call()
      times[name].append(time.process_time() - start)
  return {name: min(values[1:]) for name, values in times.items()}


def main(argv: Sequence[str]) -> None:
  """Measure and print."""
  command.no_arguments(argv)
  given = flags.FLAGS
  os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
  try:
    import torch
  except ImportError as e:
    raise errors.missing_package_error(
      "torch", "convert", "This benchmark"
    ) from e
  torch.set_num_threads(1)
  header = ("images/s", "ours", "torch", "ratio", "compile")
  print("{:24s}{:>9s}{:>9s}{:>7s}{:>10s}".format(*header), flush=True)
  for name in given.names:
    print(_line(name, given.batch, given.rounds, given.routes), flush=True)


def _line(name: str, batch: int, rounds: int, with_routes: bool) -> str:
  """Measure one network."""
  model: Any = models.get(name)
  side = model.spec.input_px
  rng = np.random.default_rng(0)
  pixels = rng.standard_normal((batch, side, side, 3), np.float32)
  module = reference(model)
  program, compile_s = own(model, module, pixels)
  calls = {"ours": program, "torch": torchs(module, pixels)}
  if with_routes:
    calls |= routes(module, model, pixels)
  seconds = least(calls, rounds)
  rate = {key: batch / value for key, value in seconds.items()}
  line = (
    f"{name:24s}{rate['ours']:9.1f}{rate['torch']:9.1f}"
    f"{rate['ours'] / rate['torch']:7.2f}{compile_s:8.1f} s"
  )
  for route in list(rate)[2:]:
    ratio = rate[route] / rate["torch"]
    line += f"   {route} {rate[route]:.1f} ({ratio:.2f})"
  return line


if __name__ == "__main__":
  command.run(main, define_flags)
