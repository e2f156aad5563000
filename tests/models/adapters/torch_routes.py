"""Which route each torch network takes, measured: docs/evidence/TORCH.md's table.

  python -m tests.models.adapters.torch_routes            # those without a row
  python -m tests.models.adapters.torch_routes resnet18 timm:beit_base_patch16_224

Weights and running statistics are random. Every network is adapted with
`route="auto"`, and its answers to pictures that the adapter's own probe does not
show it are compared with the module's.
"""

import dataclasses
import pathlib
import sys
import zlib

import jax
import numpy as np

from models import adapters
from models.adapters import routes
from models.adapters import torch as torch_adapter
from models.spec import Spec
from tests.models.convert import torchvision_cpu

_ROOT = pathlib.Path(__file__).resolve().parents[3]
ROWS = _ROOT / "docs" / "evidence" / "torch_routes.tsv"
PAGE = _ROOT / "docs" / "evidence" / "TORCH.md"
_FIELDS = ("name", "px", "route", "difference", "rounding", "operators")
# The table of the page lies between this line and the next heading.
_HEAD = "## Routes"
# Sides where the network's own default is none of 224.
_SIDES = {"inception_v3": 299, "maxvit_t": 224, "vit_h_14": 224}
TIMM = (
  "beit_base_patch16_224",
  "cait_xxs24_224",
  "coat_tiny",
  "convnextv2_atto",
  "deit_tiny_distilled_patch16_224",
  "dpn68",
  "eca_nfnet_l0",
  "efficientnet_lite0",
  "eva02_tiny_patch14_336",
  "ghostnet_100",
  "hrnet_w18_small",
  "levit_128s",
  "maxvit_rmlp_nano_rw_256",
  "mixer_s16_224",
  "mobilevit_xxs",
  "pit_ti_224",
  "poolformer_s12",
  "repvgg_a0",
  "resnetv2_50x1_bit",
  "swin_tiny_patch4_window7_224",
  "twins_pcpvt_small",
  "vit_base_patch16_siglip_224",
  "vit_tiny_patch16_224",
  "xcit_nano_12_p16_224",
)


@dataclasses.dataclass(frozen=True)
class Row:
  """What was measured of a network.

  Attributes:
    name: torchvision's, or `timm:` and timm's.
    px: side of the pictures.
    route: `Model.route`.
    difference: max |d| of the route's logits from the module's own, over the
      logits' scale; of the host route, of the traced program that it replaces
      (0 where there is none).
    rounding: the module's own in float32, from itself in float64, on the pictures
      that the difference is of; measured where that is above 1e-5, else 0.
    operators: how many different ones its graph has; 0 where there is none.
  """

  name: str
  px: int
  route: str
  difference: float
  rounding: float
  operators: int


def names() -> tuple[str, ...]:
  """All networks: torchvision's classifiers, and some of timm's."""
  torchvision_cpu.define()
  import torchvision

  listed = torchvision.models.list_models(module=torchvision.models)
  return (*listed, *(f"timm:{name}" for name in TIMM))


def build(name: str, px: int = 0):
  """A network with random weights, and the side of its pictures.

  Args:
    name: see `Row`.
    px: side of the pictures; its own by default.
  """
  import torch

  torchvision_cpu.define()
  torch.manual_seed(zlib.crc32(name.encode()))
  if name.startswith("timm:"):
    import timm

    net = timm.create_model(name.removeprefix("timm:"), num_classes=1000)
    side = px or net.default_cfg["input_size"][-1]
  else:
    import torchvision

    slow = name in ("googlenet", "inception_v3")  # scipy draws their weights
    options = {"init_weights": False} if slow else {}
    net = torchvision.models.get_model(name, weights=None, **options)
    side = px or _SIDES.get(name, 224)
  randomise(torch, net, pictures(side))
  return net.eval(), side


def pictures(side: int, seed: int = 0) -> np.ndarray:
  """Float pictures `[3, 3, side, side]`, smooth as photographs are."""
  coarse = np.random.default_rng(seed).standard_normal((3, 3, 14, 14))
  places = np.arange(side) * 14 // side
  return coarse[..., places, :][..., places].astype(np.float32)


def randomise(torch, net, batch: np.ndarray) -> None:
  """Random weights; statistics near those of a batch, then disturbed.

  With arbitrary statistics all pictures give the same logits, and zero heads,
  which many networks begin with, would make every comparison pass.
  """
  for name, value in net.named_parameters():
    gain = name.endswith(("weight", "gamma", "gain", "scale"))
    with torch.no_grad():
      if value.numel() == max(value.shape, default=1):  # a vector
        value.copy_(0.1 * torch.randn(value.shape) + (0.8 if gain else 0.0))
      else:
        fan = max(value[0].numel(), 1)
        value.copy_(torch.randn(value.shape) * (2 / fan) ** 0.5)
  norms = [m for m in net.modules() if "running_var" in dict(m.named_buffers())]
  norms = [m for m in norms if "momentum" in vars(m)]
  for norm in norms:
    norm.momentum = 1.0
  if norms:
    with torch.no_grad():
      net.train()(torch.from_numpy(batch))
    net.eval()
  for norm in norms:
    spread = norm.running_var + norm.running_var.mean()
    norm.running_mean.add_(0.05 * torch.randn(spread.shape) * spread.sqrt())
    norm.running_var.copy_(spread)
    if norm.affine:  # as far as the larger variance made it quieter
      norm.weight.data.mul_(2**0.5)


def measure(name: str, px: int = 0) -> Row:
  """The route of a network, and how far its answers are from the module's."""
  import torch

  torch.set_num_threads(1)
  net, side = build(name, px)
  spec = Spec(
    input_px=side,
    resize_px=side,
    resize="squash",
    mean=(0.5,) * 3,
    std=(0.25,) * 3,
  )
  spec = dataclasses.replace(spec, num_classes=1000)
  model = adapters.get("torch")(net, spec, name=name.replace(":", "_"))
  batch = np.random.default_rng(7).integers(0, 256, (3, 7, 7, 3), np.uint8)
  places = np.arange(side) * 7 // side
  batch = batch[:, places][:, :, places]
  host = adapters.get("torch")(net, spec, route="host")
  want = host.apply(None, batch)
  scale = np.abs(want).max()
  if np.abs(want[0] - want[1]).max() < 1e-3 * scale:
    raise AssertionError(f"{name}: all pictures look alike to it")
  operators, difference, rounding = 0, 0.0, 0.0
  compared = []  # the pictures that the difference is of
  if model.route == "traced":
    got = np.asarray(jax.jit(model.apply)(model.variables, batch))
    difference = float(np.abs(got - want).max() / scale)
    operators = len(operators_of(model.program))
    compared = [batch] if difference > 1e-5 else []
  elif "of the logits' scale away" in model.route:
    difference = float(model.route.split(" are ")[1].split()[0])
    compared = [routes.pictures(spec, n) for n in torch_adapter.PROBE_ROWS]
  if compared:
    rounded = [host.apply(None, pictures) for pictures in compared]
    exact = adapters.get("torch")(net.double(), spec, route="host")
    rounding = max(
      float(np.abs(exact.apply(None, pictures) - own).max() / np.abs(own).max())
      for pictures, own in zip(compared, rounded, strict=True)
    )
  return Row(name, side, model.route, difference, rounding, operators)


def operators_of(program: str) -> set[str]:
  """The operators that a program's text names."""
  calls = [
    line.split(" = ", 1)[1] for line in program.splitlines() if " = " in line
  ]
  return {call.split("(")[0] for call in calls if "(" in call}


def read() -> list[Row]:
  """The rows that were measured."""
  lines = ROWS.read_text().splitlines()[1:] if ROWS.exists() else []
  kinds = (str, int, str, float, float, int)
  return [
    Row(*(kind(v) for kind, v in zip(kinds, line.split("\t"), strict=True)))
    for line in lines
  ]


def write(rows: list[Row]) -> None:
  """All rows, by name; and the page's table."""
  ordered = sorted(
    rows, key=lambda row: (row.name.startswith("timm:"), row.name)
  )
  lines = ["\t".join(_FIELDS)]
  for row in ordered:
    lines.append("\t".join(_text(v) for v in dataclasses.astuple(row)))
  ROWS.write_text("\n".join(lines) + "\n")
  PAGE.write_text(page(PAGE.read_text(), ordered))


def _text(value) -> str:
  return f"{value:.1e}" if isinstance(value, float) else str(value)


def page(text: str, rows: list[Row]) -> str:
  """The page with the table of these rows."""
  before, _, rest = text.partition(f"{_HEAD}\n")
  after = rest[rest.find("\n## ") :] if "\n## " in rest else ""
  return f"{before}{_HEAD}\n\n{table(rows)}{after}"


def table(rows: list[Row]) -> str:
  """As Markdown, with a line of totals."""
  traced = sum(row.route == "traced" for row in rows)
  lines = [
    f"{traced} of {len(rows)} networks are traced, {len(rows) - traced} run on the"
    " host.",
    "",
    "| network | px | route | difference | operators |",
    "|---|---|---|---|---|",
  ]
  for row in rows:
    own = f" (torch's own rounding: {row.rounding:.1e})" if row.rounding else ""
    gap = f"{row.difference:.1e}{own}" if row.difference else "—"
    route = row.route.split(":")[0]
    lines.append(
      f"| {row.name} | {row.px} | {route} | {gap} | {row.operators or '—'} |"
    )
  return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
  """Measures networks, and writes each row as soon as it is there."""
  known = {row.name for row in read()}
  wanted = arguments or [name for name in names() if name not in known]
  for name in wanted:
    row = measure(name)
    print(row, flush=True)
    write([r for r in read() if r.name != name] + [row])
    jax.clear_caches()


if __name__ == "__main__":
  main(sys.argv[1:])
