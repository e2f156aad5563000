"""Whole benchmarks on several machines: the tables of docs/evidence/COSTS.md.

  python -m benchmarks.scale          # prints the tables
  python -m benchmarks.scale --write  # puts them into docs/evidence/COSTS.md

A calculation, no measurement: each stage's cost below was measured by the command
that stands beside it, or is an estimate, and says by which formula. Whoever has
other hardware runs the commands there and changes the numbers.
"""

import dataclasses
import pathlib
import re
from collections.abc import Sequence

from absl import flags

from robust_tfds import command

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "evidence" / "COSTS.md"
_MARK = "<!-- python -m benchmarks.scale --write: {name} -->"


@dataclasses.dataclass(frozen=True)
class Cost:
  """The cost of one operation.

  Attributes:
    value: in the unit.
    unit: `ms`, `us`, `bytes`, ...
    of: what it is the cost of, in words.
    source: the command that measured it; of an estimate its formula.
    estimate: not measured.
  """

  value: float
  unit: str
  of: str
  source: str
  estimate: bool = False

  @property
  def si(self) -> float:
    """Return the cost in seconds or bytes."""
    return self.value * {"ms": 1e-3, "us": 1e-6}.get(self.unit, 1.0)


_PIPELINE = "benchmarks.pipeline --model=resnet50 --pictures=FOLDER"

# Of one core of the machine that docs/evidence/COSTS.md names, CPU time.
DECODE_PNG = Cost(2.2, "ms", "read and decode a 224x224 photograph", _PIPELINE)
DECODE_LARGE = Cost(
  13.5, "ms", "read and decode one of 640x480",
  "6.1 times the pixels of 224x224", estimate=True,
)  # fmt: skip
DECODE_VIDEO = Cost(
  100.0, "ms", "decode a synthetic video of 250 frames, 320x240 px, H.264",
  "benchmarks.video_input",
)  # fmt: skip
ENCODE = Cost(
  4000.0, "ms", "a video of 250 frames, 340x256 px, through MPEG in 10 ways",
  "5 severities x (0.58 s of mpeg1 + 0.22 s of mpeg2), a call each of"
  " `corruptions.perturb_video` at severity 3", estimate=True,
)  # fmt: skip
CORRUPT = Cost(0.52, "ms", "corrupt a 224x224 picture, mean of 95", _PIPELINE)
JPEG85 = Cost(
  0.23, "ms", "its JPEG of quality 85",
  "benchmarks.pipeline --names=none --codec=jpeg85",
)  # fmt: skip
FRAME = Cost(0.88, "ms", "a frame of a sequence", "benchmarks.sequences")
RESNET = Cost(80.0, "ms", "ResNet-50 in float32, a picture", _PIPELINE)
PUT = Cost(0.002, "ms", "a picture to the devices, here a copy", _PIPELINE)
FETCH = Cost(0.004, "ms", "its outputs back, with columns", _PIPELINE)
HOST = Cost(
  0.012, "ms", "all else of an image and condition, writing included",
  "what of a run is not corrupting and not the model, 0.013 to 0.035 ms (the same"
  " command) with its share of decoding", estimate=True,
)  # fmt: skip
MASKS = Cost(
  3.4, "ms", "run lengths of a picture's 100 masks", "benchmarks.detection"
)
# Of an H100.
GPU_CORRUPT = Cost(
  8.0, "us", "corrupt a 224x224 picture, with its jpeg85",
  "the aim: 10 % of the model's time; to be measured by benchmarks.device",
  estimate=True,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Work:
  """A benchmark's amount of work.

  Attributes:
    name: of it and its model.
    examples: source files.
    conditions: shown of each, clean included.
    images: that a model is shown of an example under all conditions.
    rows: that are stored of an example under all conditions.
    pixels: of an image.
    example_pixels: that are decoded of an example.
    read_bytes: of a source file.
    row_bytes: stored of a row.
    decode: of an example, on a core.
    corrupt: of an image, on a core, seconds.
    extra: more work of all cores an image, on a core, seconds.
    flop: of the model, an image.
  """

  name: str
  examples: int
  conditions: int
  images: int
  rows: int
  pixels: int
  example_pixels: int
  read_bytes: float
  row_bytes: float
  decode: Cost
  corrupt: float
  flop: float
  extra: float = 0.0

  @property
  def shown(self) -> int:
    """The total number of images."""
    return self.examples * self.images


_SMALL_PX, _LARGE_PX, _VIDEO_PX = 224 * 224, 640 * 480, 340 * 256
WORKS = (
  Work(
    "ImageNet-C, ResNet-50", 50_000, 96, 96, 96, _SMALL_PX, _SMALL_PX,
    read_bytes=86e3, row_bytes=30, decode=DECODE_PNG,
    corrupt=CORRUPT.si + JPEG85.si, flop=7.95e9,
  ),
  Work(
    "ImageNet-P, ResNet-50", 50_000, 11, 321, 321, _SMALL_PX, _SMALL_PX,
    read_bytes=86e3, row_bytes=30, decode=DECODE_PNG, corrupt=FRAME.si,
    flop=7.95e9,
  ),
  Work(
    "COCO-C, Mask R-CNN R50", 5_000, 96, 96, 96, _LARGE_PX, _LARGE_PX,
    read_bytes=463e3, row_bytes=31e3, decode=DECODE_LARGE,
    corrupt=CORRUPT.si * _LARGE_PX / _SMALL_PX, flop=528e9, extra=MASKS.si,
  ),
  Work(
    "K400-P, X3D-M, 10 views", 19_000, 91, 910, 91, 16 * _VIDEO_PX,
    250 * _VIDEO_PX, read_bytes=1.5e6, row_bytes=30, decode=DECODE_VIDEO,
    corrupt=16 * CORRUPT.si * _VIDEO_PX / _SMALL_PX, flop=9.89e9,
    extra=ENCODE.si / 910,
  ),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Machine:
  """A machine that runs it.

  Attributes:
    name: of it.
    hosts: machines.
    cores: of a host.
    devices: accelerators in all; 0: the cores do it.
    flop_s: peak of a device, bfloat16.
    memory_bytes_s: of a device.
    put_bytes_s: from a host to its devices.
  """

  name: str
  hosts: int
  cores: int
  devices: int = 0
  flop_s: float = 0.0
  memory_bytes_s: float = 0.0
  put_bytes_s: float = 50e9  # PCIe 5, 16 lanes


_H100_FLOP_S, _H100_BYTES_S = 989e12, 3.35e12  # its data sheet
MACHINES = (
  Machine("1 CPU of 16 cores", 1, 16),
  Machine("1 H100", 1, 16, 1, _H100_FLOP_S, _H100_BYTES_S),
  Machine("8 H100", 1, 112, 8, _H100_FLOP_S, _H100_BYTES_S, 400e9),
  # Of a chip 197 TFLOP/s and 819 GB/s, 8 chips a host.
  Machine("TPU v5e, 64 chips", 8, 112, 64, 197e12, 0.819e12, 100e9),
)
_USED = 0.1  # of the peak, by a model


@dataclasses.dataclass(frozen=True)
class Times:
  """The seconds of the stages, which overlap on accelerators."""

  stages: dict[str, float]
  together: bool

  @property
  def total(self) -> float:
    """The total seconds."""
    values = self.stages.values()
    return max(values) if self.together else sum(values)

  @property
  def slowest(self) -> str:
    """The slowest stage."""
    return max(self.stages, key=self.stages.__getitem__)


def times(work: Work, machine: Machine) -> Times:
  """Return the time of each stage of a benchmark on a machine."""
  cores = machine.hosts * machine.cores
  host = work.shown * HOST.si
  # Decoding, masks and encoders use all cores.
  decode = work.examples * work.decode.si + work.shown * work.extra
  stages = {"decode": decode / cores}
  if not machine.devices:
    stages["corrupt"] = work.shown * work.corrupt / cores
    stages["model"] = work.shown * RESNET.si * work.flop / 7.95e9 / cores
    stages["host"] = host / cores
    return Times(stages, together=False)
  slower = _H100_BYTES_S / machine.memory_bytes_s
  corrupt = GPU_CORRUPT.si * work.pixels / _SMALL_PX * slower
  model = work.flop / (machine.flop_s * _USED)
  stages["device"] = work.shown * (corrupt + model) / machine.devices
  stages["put"] = put_bytes(work) / machine.put_bytes_s / machine.hosts
  # Two threads of a host do it: one gives work to the devices, one takes it.
  stages["host"] = host / (2 * machine.hosts)
  return Times(stages, together=True)


def put_bytes(work: Work) -> float:
  """Return the bytes of pixels moved to the devices, each example once."""
  return work.examples * work.example_pixels * 3.0


def costs_table() -> str:
  """Return the table of the stages' costs."""
  lines = ["| stage | cost | from |", "|---|---|---|"]
  for cost in (
    DECODE_PNG, DECODE_LARGE, DECODE_VIDEO, ENCODE, PUT, CORRUPT, JPEG85, FRAME,
    RESNET, FETCH, MASKS, HOST, GPU_CORRUPT,
  ):  # fmt: skip
    mark = "e " if cost.estimate else ""
    source = cost.source
    if source.startswith("benchmarks."):
      source = f"`python -m {source}`"
    lines.append(f"| {cost.of} | {mark}{cost.value:g} {cost.unit} | {source} |")
  return "\n".join(lines)


def works_table() -> str:
  """Return the table of what every benchmark reads, moves and writes."""
  lines = [
    "| benchmark | sources | images shown | decoded | decoded, once a condition"
    " | read | to the devices | once a condition | written |",
    "|---" * 9 + "|",
  ]
  for w in WORKS:
    again = w.conditions
    cells = (
      w.name,
      f"{w.examples:,}",
      f"{w.shown / 1e6:.2f} M",
      f"{w.examples:,}",
      f"{w.examples * again:,}",
      f"e {_bytes(w.examples * w.read_bytes)}",
      f"e {_bytes(put_bytes(w))}",
      f"e {_bytes(put_bytes(w) * again)}",
      f"e {_bytes(w.row_bytes * w.examples * w.rows)}",
    )
    lines.append(f"| {' | '.join(cells)} |")
  return "\n".join(lines)


def times_table() -> str:
  """Return the table of times by benchmark and machine, with the slowest stage."""
  lines = [
    "| benchmark | " + " | ".join(m.name for m in MACHINES) + " |",
    "|---" * (len(MACHINES) + 1) + "|",
  ]
  for work in WORKS:
    cells = [work.name]
    for machine in MACHINES:
      took = times(work, machine)
      cells.append(f"e {_duration(took.total)} ({took.slowest})")
    lines.append(f"| {' | '.join(cells)} |")
  return "\n".join(lines)


TABLES = {
  "costs": costs_table,
  "benchmarks": works_table,
  "times": times_table,
}


def page(text: str) -> str:
  """Return the page with its tables made anew, each under its mark."""
  for name, make in TABLES.items():
    mark = _MARK.format(name=name)
    table = re.compile(re.escape(mark) + r"\n\n(?:\|.*\n)*\n?")
    new = f"{mark}\n\n{make()}\n\n"
    text, count = table.subn(lambda _, new=new: new, text)
    if count != 1:
      raise ValueError(f"{PAGE}: {count} lines {mark!r}, expected one.")
  return text


def _bytes(count: float) -> str:
  for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
    if count >= size:
      return f"{count / size:.3g} {unit}"
  return f"{count:.3g} B"


def _duration(seconds: float) -> str:
  units = (("days", 86_400), ("h", 3600), ("min", 60), ("s", 1))
  unit, size = next((u for u in units if seconds >= 2 * u[1]), units[-1])
  count = seconds / size
  return f"{count:.{0 if count >= 10 else 1}f} {unit}"


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_bool(
    "write", False, "Put the tables into docs/evidence/COSTS.md."
  )


def main(argv: Sequence[str]) -> None:
  """Print or write the tables."""
  del argv
  if flags.FLAGS.write:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return
  print("\n\n".join(make() for make in TABLES.values()))


if __name__ == "__main__":
  command.run(main, define_flags)
