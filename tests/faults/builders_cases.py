"""The builders' own doors: `robust_tfds.build NAME`, `robust_tfds.load`."""

import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

from tests.faults import builds, case, commands
from tests.faults.case import Case


def cases() -> Iterator[Case]:
  """Names, flags, folders; and odd ones."""
  yield from case.rows(
    _build,
    *(
      (f"{name} {config}", (name, config), word)
      for name, config, word in (
        ("digits_d", "clean", "digits"),
        ("", "clean", "data set|dataset|name"),
        ("../x", "clean", "../x"),
        ("digits_c", "fogg_3", "fog"),
        ("digits_c", "fog_6", "fog_6|severity"),
        ("digits_c", "clean,fogg_1", "fogg"),
        ("digits_c", "clean,,", "config"),
        ("digits_c", "clean_webp", "webp"),
        ("digits_p", "tilt_2", "tilt"),
        ("digits_c", "../x", "/x|_x"),
      )
    ),
    *(
      (f"digits_c --{flag}", ("digits_c", "clean", flag), word)
      for flag, word in (
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("workers=0", "workers"),
        ("codec=webp", "webp"),
        ("codec=h264", "h264"),
        ("file_format=zip", "zip|format"),
        ("seed=x", "seed"),
        ("data_dir=/dev/null/x", "/dev/null/x"),
      )
    ),
    *(
      (f"{name} of an empty folder", (name, config), "/in|manual")
      for name, config in (
        ("imagenet_c", "clean"),
        ("coco_c", "clean"),
        ("ucf101_p", "clean"),
        ("imagenet_vid_robust", "reviewed"),
      )
    ),
    # A corruption's name stands for every severity.
    ("odd: digits_c fog", ("digits_c", "fog", "limit=2"), _every_severity),
  )
  yield from case.rows(
    lambda flags, folder: builds.build("digits_c", folder, **flags),
    ("--limit=1000000", {"limit": 10**6}, builds.count(359)),
    ("fog_3", {"config": "fog_3", "limit": 4}, builds.count(4)),
    kinds="odd: digits_c {}",
  )
  yield from case.rows(
    _load,
    *(
      (f"load {text!r}", text, word)
      for text, word in (
        ("digits_c/fogg/3", "fog"),
        ("digits_c/fog/9", "severity|fog_9"),
        ("digits_c/fog/3/4", "fog"),
        ("digits_d", "digits"),
        ("", "name|data set|dataset"),
      )
    ),
  )


def _build(words: Sequence[str], folder: pathlib.Path) -> Any:
  name, config, *flags = words
  (folder / "notes.txt").write_text("TFDS itself refuses an empty manual dir")
  if not any(flag.startswith("data_dir") for flag in flags):
    flags.append(f"data_dir={folder.parent / 'data'}")
  return commands.run(
    "robust_tfds.build",
    name,
    f"--config={config}",
    f"--manual_dir={folder}",
    *(f"--{flag}" for flag in flags),
  )


def _every_severity(out: str) -> bool:
  return all(f"digits_c/fog_{severity}/" in out for severity in range(1, 6))


def _load(text: str, folder: pathlib.Path) -> Any:
  import robust_tfds

  return robust_tfds.load(text, split="test", data_dir=str(folder))
