"""Measure how far every corruption is from the authors' own pixels.

`docs/evidence/fidelity.tsv` holds what `python -m tools.fidelity_page` measured last. The
goldens are made from photographs and stay beside the project: tests/golden/README.md.
"""

import dataclasses
import pathlib
from collections.abc import Iterator, Sequence

import numpy as np
from PIL import Image

from robust_tfds import conditions, corruptions
from robust_tfds.corruptions import frost_pictures
from tests import shared_data
from tests.corruptions import reference_draws, replays, statistics_of
from tests.corruptions.image import golden_test, statistics_test
from tests.corruptions.sequence import golden_test as sequence_golden_test

FILE = (
  pathlib.Path(__file__).resolve().parents[1]
  / "docs"
  / "evidence"
  / "fidelity.tsv"
)
PICTURES, SEVERITIES = ("cifar32", "img0"), (1, 3, 5)  # of statistics
_VIDEOS = {
  "static_rotation": ("static_rotate_{}", "clip_32x128x171.npz"),
  "defocus_blur": ("defocus_blur_{}", "clip_32x128x171.npz"),
  "jpeg": ("compression_{}", "clip_32x128x171.npz"),
  "zoom_blur": ("zoom_blur_{}_big", "clip_8x256x256.npz"),
}


@dataclasses.dataclass(frozen=True)
class Row:
  """A corruption compared with the authors' code.

  Attributes:
    kind: `image`, `drawn` (with the authors' random numbers), `sequence`, `video`.
    name: the corruption.
    outputs: how many stored outputs it was compared with.
    worst: largest |difference| of a value, in grey levels of 255.
    mean: largest |mean difference| of an output, in grey levels.
    differing: largest share of an output's values that are not equal, percent.
    statistic: with our own random numbers, the worst statistic over 32 runs, as
      a share of what four standard errors allow; empty without random numbers.
  """

  kind: str
  name: str
  outputs: int
  worst: int
  mean: str
  differing: str
  statistic: str = ""


def measured() -> Iterator[Row]:
  """Measure the rows, in a fixed order; takes minutes on two cores.

  Raises:
    unittest.SkipTest: the photographs are not here.
  """
  replays.use_frost()
  try:
    for name in golden_test._DETERMINISTIC:
      yield _row("image", name, list(_image(name)))
    for name in reference_draws.OF:
      yield drawn(name)
    for name in sequence_golden_test.EXACT:
      yield _row("sequence", name, list(_sequence(name)))
    for name in _VIDEOS:
      yield _row("video", name, list(_video(name)))
  finally:
    frost_pictures.use_folder(None)


def stored() -> list[Row]:
  """Return the rows measured last."""
  numbers = ("outputs", "worst")
  lines = [dict(line) for line in shared_data.lines(FILE)]
  for line in lines:
    line.update({key: int(line[key]) for key in numbers})
  return [Row(**line) for line in lines]


def store(rows: Sequence[Row]) -> None:
  """Write the table."""
  names = [field.name for field in dataclasses.fields(Row)]
  lines = [names, *([str(getattr(r, n)) for n in names] for r in rows)]
  FILE.write_text("".join("\t".join(x) + "\n" for x in lines), "utf-8")


def drawn(
  name: str,
  cells: Sequence[tuple[str, int]] = replays.CELLS,
  pictures: Sequence[str] = PICTURES,
) -> Row:
  """Return a random corruption's pixels with the authors' draws and with ours."""
  off, means = [], []
  for cell in cells:
    ours = replays.replay(name, *cell, reference_draws.OF[name])
    gap, mean = replays.differences(name, *cell, ours)
    off.append(gap)
    means.append(abs(mean))
  worst = max(_statistic(name, p, s) for p in pictures for s in SEVERITIES)
  row = _row("drawn", name, off)
  return dataclasses.replace(
    row, mean=f"{max(means):.4f}", statistic=f"{worst:.2f}"
  )


def _row(kind: str, name: str, differences: Sequence[np.ndarray]) -> Row:
  return Row(
    kind,
    name,
    len(differences),
    int(max(np.abs(d).max() for d in differences)),
    f"{max(abs(d.mean()) for d in differences):.4f}",
    f"{100 * max((d != 0).mean() for d in differences):.3f}",
  )


def _image(name: str) -> Iterator[np.ndarray]:
  """Return ours minus theirs for every stored output."""
  root = shared_data.path("golden", "corruptions", "deterministic")
  for key in golden_test._INPUTS:
    for path in sorted((root / key).glob(f"{name}_[1-5].png")):
      expected = np.asarray(Image.open(path).convert("RGB")).astype(int)
      ours = corruptions.corrupt(
        golden_test._input(key),
        name,
        int(path.stem[-1]),
        edition=golden_test._edition(key),
        key=corruptions.example_key(0, "golden", name, 1, key),
      )
      yield np.asarray(ours).astype(int) - expected


def _sequence(name: str) -> Iterator[np.ndarray]:
  """Return differences of a sequence: whole frames, and two crops of every frame."""
  for photo in sequence_golden_test.PHOTOS:
    frames = corruptions.sequence(
      sequence_golden_test.read_photo(photo),
      name,
      key=sequence_golden_test.a_key(),
    )
    golden = sequence_golden_test.read_golden(photo, name)
    parts = sequence_golden_test.differences(np.asarray(frames), golden)
    yield np.concatenate([part.ravel() for part in parts])


def _video(name: str) -> Iterator[np.ndarray]:
  """Compare clips with those of the released code."""
  folder = shared_data.path("golden", "video")
  stem, clip = _VIDEOS[name]
  with np.load(folder / clip) as f:
    video = f["clip"]
  with np.load(folder / "deterministic_frames.npz") as expected:
    frames = [0, 7] if name == "zoom_blur" else expected["keep"]
    for severity in conditions.SEVERITIES:
      key = corruptions.example_key(0, "golden", name, severity, "clip")
      ours = corruptions.perturb_video(video, name, severity, key=key)
      theirs = expected[stem.format(severity)].astype(int)
      yield np.asarray(ours)[frames].astype(int) - theirs


def _statistic(name: str, key: str, severity: int) -> float:
  image = replays.picture(key)
  ids = [str(i) for i in range(32)]
  outputs = corruptions.corrupt_batch(
    np.broadcast_to(image, (32, *image.shape)),
    name,
    severity,
    edition=statistics_test.EDITIONS[key],
    keys=conditions.raw_keys(0, "golden", name, severity, ids),
  )
  golden = statistics_of.reference()[key][name][str(severity)]
  return statistics_of.worst(image, np.asarray(outputs), golden)[0]
