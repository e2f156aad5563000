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
  listed = _files()[_LIST].decode().splitlines()

  def joined(*lines: str) -> bytes:
    return ("\n".join(lines) + "\n").encode()

  windows = {
    _INDEX: index.replace("\n", "\r\n").encode(),
    _LIST: "\r\n".join([*listed, ""]).encode(),
  }
  gap = index.replace("1 Class001", "150 Class001", 1).encode()
  leaving = joined(*listed, "Class003/../../../x.avi")
  yield from case.rows(
    _ucf_build,
    ("a gap in classInd.txt", {_INDEX: gap}, "classInd.txt"),
    ("a path that leaves", {_LIST: leaving}, "x.avi"),
    ("an absolute path", {_LIST: joined(*listed, "/etc/passwd")}, "passwd"),
    ("no list", {_LIST: None}, "testlist01.txt"),
    ("odd: lists of Windows", windows, _right),
    ("odd: a blank last line", {_LIST: joined(*listed, "")}, _right),
  )


def _others() -> Iterator[Case]:
  """HMDB51's and Kinetics' classes keep their numbers; ids that leave."""
  splits = "testTrainMulti_7030_splits"

  def hmdb(line: str, folder: pathlib.Path) -> Any:
    files: dict[str, bytes] = {}
    for name in ("brush_hair", "wave"):
      files[f"{splits}/{name}_test_split1.txt"] = f"{name}_0.avi 2\n".encode()
      files[f"hmdb51_org/{name}/{name}_0.avi"] = _movie()
    files[f"{splits}/wave_test_split1.txt"] = line.encode()
    return builds.of_files("hmdb51_p", files, folder)

  def kinetics(rows: str, folder: pathlib.Path) -> Any:
    head = "label,youtube_id,time_start,time_end,split\n"
    rows = f"zumba,abc,5,15,val\nabseiling,xyz,120,130,val\n{rows}"
    files = {"kinetics400/validate.csv": (head + rows).encode()}
    for name in ("abc_000005_000015", "xyz_000120_000130"):
      files[f"kinetics400/val/{name}.mp4"] = _movie("mp4")
    return builds.of_files("kinetics400_p", files, folder)

  def ssv2(first: str, folder: pathlib.Path) -> Any:
    classes = {f"Doing something {i}": str(i) for i in range(174)}
    entries = [
      {"id": first, "label": "a", "template": "Doing [something] 1"},
      {"id": "9", "label": "b", "template": "Doing [something] 0"},
    ]
    files = {
      "something-something-v2-labels.json": json.dumps(classes).encode(),
      "something-something-v2-validation.json": json.dumps(entries).encode(),
    }
    for n in (7, 9):
      files[f"20bn-something-something-v2/{n}.webm"] = _movie("webm")
    return builds.of_files("ssv2_p", files, folder)

  def labels(*want: int) -> Callable[[Any], bool]:
    return lambda found: (
      sorted(int(e["label"]) for e in found.values()) == [*want]
    )

  for name, act, good, want, bad, words in (
    ("HMDB51", hmdb, "wave_0.avi 2\n", (0, 50), "wave_0.avi 3\n", "wave_0.avi"),
    ("Kinetics", kinetics, "", (0, 399), "zumba,../../x,1,2,val\n", "validate.csv|x_0"),
    ("SSv2", ssv2, "7", (0, 1), "../../x", "validation.json|../x"),
  ):  # fmt: skip
    yield from case.rows(
      act,
      (f"odd: {name}: two classes", good, "class", labels(*want)),
      (f"{name}: a broken line", bad, words),
    )
