"""Videos and their lists, `robust_tfds.build` of UCF101 and its like.

What no video may be is in tests/reading/videos_test.py, what no list may hold in
tests/building/sources/lists_test.py.
"""

import functools
import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests import tiny_files
from tests.building.sources import action_layouts
from tests.faults import builds, case
from tests.faults.case import Case

_FRAMES = 12
_VIDEO = "UCF-101/Class002/v_Class002_g01_c01.avi"
_NAME = "v_Class002_g01_c01.avi"
_INDEX = "ucfTrainTestlist/classInd.txt"
_LIST = "ucfTrainTestlist/testlist01.txt"


def cases() -> Iterator[Case]:
  """Containers, lists of UCF101, HMDB51, Kinetics and SSv2; folders of one's own."""
  yield from _containers()
  yield from _own()
  yield from _ucf()
  yield from _others()


@functools.cache
def _movie(container: str = "avi", frames: int = _FRAMES) -> bytes:
  return tiny_files.movie(action_layouts.clip(0, frames), container)


def _files() -> dict[str, bytes]:
  names = [f"Class{i:03d}" for i in range(1, 102)]
  index = "".join(f"{i} {n}\n" for i, n in enumerate(names, 1))
  listed = ["Class001/v_Class001_g01_c01.avi", f"Class002/{_NAME}"]
  return {
    _INDEX: index.encode(),
    _LIST: ("\n".join(listed) + "\n").encode(),
    **{f"UCF-101/{n}": _movie() for n in listed},
  }


def _ucf_build(change: dict[str, bytes | None], folder: pathlib.Path) -> Any:
  files = {**_files(), **change}
  left = {k: v for k, v in files.items() if v is not None}
  return builds.of_files("ucf101_p", left, folder)


def _right(found: Any) -> bool:
  labels = sorted(int(e["label"]) for e in found.values())
  assert labels == [0, 1], labels
  lengths = {len(e["video"]) for e in found.values()}
  assert lengths == {_FRAMES}, lengths
  return True


def _containers() -> Iterator[Case]:
  cut = _movie("mp4")[: len(_movie("mp4")) // 2]
  yield from case.rows(
    lambda data, folder: _ucf_build({_VIDEO: data}, folder),
    ("cut", cut, _NAME),
    ("text", b"hello", _NAME),
    ("absent", None, _NAME),
    ("in another container", _movie("webm"), _right),
    kinds="a video is {}",
  )
  yield Case("a video without a picture", _sound, (_NAME,))
  yield Case(
    "odd: a video of one frame",
    lambda folder: _ucf_build({_VIDEO: _movie("avi", 1)}, folder),
    right=lambda e: sorted(len(x["video"]) for x in e.values()) == [1, _FRAMES],
  )


def _own() -> Iterator[Case]:
  """`videos:FOLDER`: two classes of two videos each, and a change of them."""
  whole = {
    f"{name}/{i}.mp4": _movie("mp4", 5 + 3 * (name == "b") + i)
    for name in "ab"
    for i in range(2)
  }

  def build(change: dict[str, bytes | None], folder: pathlib.Path) -> Any:
    some = {**whole, **change}
    left = {k: v for k, v in some.items() if v is not None}
    return builds.of_files(f"videos:{folder}", left, folder)

  def of_two(found: Any) -> bool:
    return sorted(int(e["label"]) for e in found.values()) == [0, 0, 1, 1]

  mp4 = whole["a/0.mp4"]
  yield from case.rows(
    build,
    ("an empty file", {"b/1.mp4": b""}, "b/1.mp4"),
    ("a file of text", {"b/1.mp4": b"hello"}, "b/1.mp4"),
    ("a video cut at half", {"b/1.mp4": mp4[: len(mp4) // 2]}, "b/1.mp4"),
    ("one video in two classes", {"b/1.mp4": mp4}, "b/1.mp4", "a/0.mp4"),
    ("one class", {"b/0.mp4": None, "b/1.mp4": None}, "1 folders|two"),
    ("a class of pictures", {"c/x.png": b"png"}, "/c: a class without a video"),
    ("names of one case", {"a/0.MP4": _movie("mp4", 4)}, "a/0.MP4", "by case"),
    kinds="own videos: {}",
  )
  yield from case.rows(
    build,
    ("hidden files", {"a/._0.mp4": b"", "Thumbs.db": b"", ".x/0.mp4": b""}),
    ("notes", {"a/notes.txt": b"x", "read.me": b"x", "x.mp4": mp4}),
    ("other containers", {"a/0.mp4": None, "a/0.webm": _movie("webm", 7)}),
    ("one frame", {"a/0.mp4": _movie("avi", 1)}),
    kinds="odd: own videos: {}",
    right=of_two,
  )


def _sound(folder: pathlib.Path) -> Any:
  import io
  import wave

  out = io.BytesIO()
  with wave.open(out, "wb") as w:
    w.setnchannels(1)
    w.setsampwidth(2)
    w.setframerate(8000)
    w.writeframes(np.zeros(800, np.int16).tobytes())
  return _ucf_build({_VIDEO: out.getvalue()}, folder)


def _ucf() -> Iterator[Case]:
  index = _files()[_INDEX].decode()
  lines = index.splitlines()

  def joined(some: list[str]) -> bytes:
    return ("\n".join(some) + "\n").encode()

  listed = _files()[_LIST].decode().splitlines()
  yield from case.rows(
    _ucf_build,
    ("a gap in classInd.txt", {_INDEX: joined(["150 Class001", *lines[1:]])},
     "classInd.txt"),
    ("classInd.txt is binary", {_INDEX: bytes(range(256))}, "classInd.txt"),
    ("a path that leaves",
     {_LIST: joined([*listed, "Class003/../../../x.avi"])}, "x.avi"),
    ("an absolute path", {_LIST: joined([*listed, "/etc/passwd"])}, "passwd"),
    ("no list", {_LIST: None}, "testlist01.txt"),
  )  # fmt: skip
  windows = {
    _INDEX: index.replace("\n", "\r\n").encode(),
    _LIST: "\r\n".join([*listed, ""]).encode(),
  }
  yield from case.rows(
    _ucf_build,
    ("odd: lists of Windows", windows),
    ("odd: a blank last line", {_LIST: joined([*listed, ""])}),
    right=_right,
  )


def _others() -> Iterator[Case]:
  splits = "testTrainMulti_7030_splits"

  def hmdb(line: str, folder: pathlib.Path) -> Any:
    files: dict[str, bytes] = {}
    for i, of in enumerate(("brush_hair", "wave")):
      files[f"{splits}/{of}_test_split1.txt"] = f"{of}_0.avi 2\n".encode()
      files[f"hmdb51_org/{of}/{of}_0.avi"] = _movie()
      if i:
        files[f"{splits}/{of}_test_split1.txt"] = line.encode()
    return builds.of_files("hmdb51_p", files, folder)

  def labels(found):
    return sorted(int(e["label"]) for e in found.values()) == [0, 50]

  yield Case(
    "odd: 2 of HMDB51's classes keep their numbers",
    functools.partial(hmdb, "wave_0.avi 2\n"),
    ("class|51",),
    right=labels,
  )
  yield Case(
    "an HMDB51 list has use 3",
    functools.partial(hmdb, "wave_0.avi 3\n"),
    ("wave_test_split1.txt|wave_0.avi",),
  )

  def kinetics(rows: str, folder: pathlib.Path) -> Any:
    head = "label,youtube_id,time_start,time_end,split\n"
    files = {"kinetics400/validate.csv": (head + rows).encode()}
    for of in ("abc_000005_000015", "xyz_000120_000130"):
      files[f"kinetics400/val/{of}.mp4"] = _movie("mp4")
    return builds.of_files("kinetics400_p", files, folder)

  def of_kinetics(found):
    return sorted(int(e["label"]) for e in found.values()) == [0, 399]

  good = "zumba,abc,5,15,val\nabseiling,xyz,120,130,val\n"
  yield Case(
    "odd: 2 of Kinetics' classes keep their numbers",
    functools.partial(kinetics, good),
    ("class|400",),
    right=of_kinetics,
  )
  yield Case(
    "validate.csv has an id that leaves",
    functools.partial(kinetics, good + "zumba,../../x,1,2,val\n"),
    ("validate.csv|x_0",),
  )

  def ssv2(change: Callable[[dict, list], Any], folder: pathlib.Path) -> Any:
    classes = {f"Doing something {i}": str(i) for i in range(174)}
    entries = [
      {"id": "7", "label": "a", "template": "Doing [something] 1"},
      {"id": "9", "label": "b", "template": "Doing [something] 0"},
    ]
    change(classes, entries)
    files = {
      "something-something-v2-labels.json": json.dumps(classes).encode(),
      "something-something-v2-validation.json": json.dumps(entries).encode(),
    }
    for n in (7, 9):
      files[f"20bn-something-something-v2/{n}.webm"] = _movie("webm")
    return builds.of_files("ssv2_p", files, folder)

  lists = "something-something-v2-labels.json"
  entries = "something-something-v2-validation.json"
  first = "Doing something 1"
  yield from case.rows(
    ssv2,
    ("a number twice", lambda c, e: c.update({first: "0"}), lists),
    ("an id that leaves", lambda c, e: e[0].update(id="../../x"), entries + "|../x"),
    kinds="SSv2: {}",
  )  # fmt: skip
  yield Case(
    "odd: SSv2: whole",
    functools.partial(ssv2, lambda c, e: None),
    right=lambda f: sorted(int(e["label"]) for e in f.values()) == [0, 1],
  )
