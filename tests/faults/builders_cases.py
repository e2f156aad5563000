"""The builders' own doors: `robust_tfds.build NAME`, `robust_tfds.load`."""

import functools
import pathlib
from collections.abc import Iterator
from typing import Any

from tests.faults import builds, commands
from tests.faults.case import Case


def cases() -> Iterator[Case]:
  """Names, flags, folders; and odd ones."""
  for name, config, word in (
    ("digits_d", "clean", "digits"),
    ("", "clean", "data set|dataset|name"),
    ("../x", "clean", "../x"),
    ("digits_c", "fogg_3", "fog"),
    ("digits_c", "fog_6", "fog_6|severity"),
    ("digits_c", "fog_0", "fog_0|severity"),
    ("digits_c", "clean,fogg_1", "fogg"),
    ("digits_c", "clean,,", "config"),
    ("digits_c", "clean_webp", "webp"),
    ("digits_p", "tilt_2", "tilt"),
    ("digits_c", "../x", "/x|_x"),
  ):
    yield Case(
      f"{name} {config}", functools.partial(_build, name, config), (word,)
    )
  for flag, word in (
    ("limit=0", "limit"),
    ("limit=-1", "limit"),
    ("limit=x", "limit"),
    ("workers=0", "workers"),
    ("workers=-2", "workers"),
    ("codec=webp", "webp"),
    ("codec=h264", "h264"),
    ("file_format=zip", "zip|format"),
    ("seed=x", "seed"),
    ("data_dir=/dev/null/x", "/dev/null/x"),
  ):
    yield Case(
      f"digits_c --{flag}",
      functools.partial(_build, "digits_c", "clean", flag),
      (word,),
    )
  for name in (
    "imagenet_c",
    "coco_c",
    "pascal_c",
    "cityscapes_c",
    "ucf101_p",
    "kinetics400_p",
    "imagenet_vid_robust",
    "tiny_imagenet_c",
  ):
    yield Case(
      f"{name} of an empty folder",
      functools.partial(
        _build, name, "clean" if name != "imagenet_vid_robust" else "reviewed"
      ),
      ("/in|manual",),
    )
  yield Case(
    "odd: digits_c --limit=3",
    functools.partial(builds.build, "digits_c", limit=3),
    right=builds.count(3),
  )
  yield Case(
    "odd: digits_c --limit=1000000",
    functools.partial(builds.build, "digits_c", limit=10**6),
    right=builds.count(359),
  )
  yield Case(
    "odd: digits_c fog_3",
    functools.partial(builds.build, "digits_c", config="fog_3", limit=4),
    right=builds.count(4),
  )
  yield Case(
    "odd: digits_c fog",  # a corruption: every severity
    functools.partial(_build, "digits_c", "fog", "limit=2"),
    right=_every_severity,
  )
  for text, word in (
    ("digits_c/fogg/3", "fog"),
    ("digits_c/fog/9", "severity|fog_9"),
    ("digits_c/fog/3/4", "fog"),
    ("digits_d", "digits"),
    ("", "name|data set|dataset"),
  ):
    yield Case(f"load {text!r}", functools.partial(_load, text), (word,))


def _build(name: str, config: str, *args: Any) -> Any:
  *flags, folder = args
  (folder / "notes.txt").write_text("TFDS itself refuses an empty manual dir")
  data = (
    []
    if any(f.startswith("data_dir") for f in flags)
    else [f"--data_dir={folder.parent / 'data'}"]
  )
  out = commands.run(
    "robust_tfds.build",
    name,
    f"--config={config}",
    f"--manual_dir={folder}",
    *data,
    *(f"--{f}" for f in flags),
  )
  return out


def _every_severity(out: str) -> bool:
  return all(f"digits_c/fog_{severity}/" in out for severity in range(1, 6))


def _load(text: str, folder: pathlib.Path) -> Any:
  import robust_tfds

  return robust_tfds.load(text, split="test", data_dir=str(folder))
