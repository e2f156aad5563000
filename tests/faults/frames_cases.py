"""Predictions on natural frames, `eval.score --metadata=...`.

What metadata may not hold is in tests/datasets/vid_robust_test.py.
"""

import json
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

from tests.datasets import natural_videos
from tests.faults import case, scored
from tests.faults.case import Case

_META = f"{natural_videos.PUBLISHED}/imagenet-vid-robust/metadata"
_IDS = [natural_videos.path("a", n) for n in (3, 11, 12, 13, 22)] + [
  natural_videos.path("b", 12)
]
_HEADER = ("example_id", "top1")


def cases() -> Iterator[Case]:
  """Rows of the file, the file, the metadata; and odd ones."""
  yield from _rows_cases()
  yield from _metadata()


def _rows() -> scored.Rows:
  return [[i, 8 if "_b/" in i else 4] for i in _IDS]


def _score(text: str | bytes, folder: pathlib.Path, **flags: Any):
  natural_videos.vid(folder)
  data = text.encode() if isinstance(text, str) else text
  (folder / "mine.csv").write_bytes(data)
  flags = {"metadata": folder, **flags}
  return scored.score(folder, folder / "mine.csv", **flags)


def _right(rows: list[dict[str, str]]) -> bool:
  for metric in ("acc_orig", "acc_pmk"):
    assert scored.value(rows, metric, config="") == 1.0, metric
  return True


def _rows_cases() -> Iterator[Case]:
  rows = _rows()
  last, lost = rows[:-1], _IDS[-1]
  one = [[*r, "one"] for r in rows]
  two = [[*r, "two"] for r in last]
  yield from case.rows(
    _score_rows,
    ("a frame lacks", (last,), "000012.JPEG"),
    ("a frame twice, two answers", ([*rows, [rows[0][0], 9]],), "000003.JPEG"),
    ("other ids", ([[f"x{i}", 4] for i in range(6)],), "000003.JPEG"),
    *(
      (f"top1 is {value!r}", ([*last, [lost, value]],), "top1|prediction|class")
      for value in ("-1", "30", "cat", "")
    ),
    ("no rows", ([],), "row"),
    ("no top1", ([[i] for i in _IDS], ("example_id",)), "top1"),
    (
      "a model of fewer frames",
      (one + two, (*_HEADER, "model")),
      "000012.JPEG",
    ),
    names=("mine.csv",),
  )
  text = scored.text(rows, _HEADER)
  yield from case.rows(
    _score,
    ("the file is binary", bytes(range(256)), "mine.csv"),
    ("the file is UTF-16", text.encode("utf-16"), "mine.csv"),
    ("odd: frames of no set", text + "val/x/1.JPEG,3\n", _right),
    ("odd: another order", scored.text(rows[::-1], _HEADER), _right),
    ("odd: a byte order mark", b"\xef\xbb\xbf" + text.encode(), _right),
    ("odd: lines of Windows", text.replace("\n", "\r\n"), _right),
  )
  yield from case.rows(
    lambda flags, folder: _score(text, folder, **flags),
    ("an unknown set", {"dataset": "ytbb"}, "ytbb"),
    ("no such metadata", {"metadata": "/nowhere"}, "/nowhere"),
  )


def _score_rows(table: Sequence[Any], folder: pathlib.Path) -> Any:
  """Scores rows, with a header of their own behind them or the usual one."""
  rows, *header = table
  return _score(scored.text(rows, *(header or [_HEADER])), folder)


def _metadata() -> Iterator[Case]:
  def without_labels(folder: pathlib.Path):
    natural_videos.vid(folder)
    path = folder / _META / "labels.json"
    content = json.loads(path.read_text())
    content.pop(natural_videos.path("a", 12))
    path.write_text(json.dumps(content))
    (folder / "mine.csv").write_text(scored.text(_rows(), _HEADER))
    return scored.score(folder, folder / "mine.csv", metadata=folder)

  words = ("labels.json|000012",)
  yield Case("an anchor without labels", without_labels, words)
