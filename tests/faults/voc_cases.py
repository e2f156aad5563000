"""VOC's annotations, lists and pictures, `robust_tfds.build pascal_c`.

What an annotation may not hold is in tests/building/sources/detection_test.py.
"""

import pathlib
from collections.abc import Iterator
from typing import Any

from tests import tiny_files
from tests.datasets import pascal_c_test
from tests.faults import builds, case, mutations
from tests.faults.case import Case

_TOP = "VOCdevkit/VOC2007"
_LIST = f"{_TOP}/ImageSets/Main/test.txt"
_XML = f"{_TOP}/Annotations/000002.xml"
_PICTURE = f"{_TOP}/JPEGImages/000002.jpg"
_TAR = "VOCtest_06-Nov-2007.tar"
_CHANGED = builds.change("pascal_c", pascal_c_test.files)
_OBJECT = (
  "<object><name>{name}</name><difficult>{difficult}</difficult><bndbox>"
  "<xmin>{xmin}</xmin><ymin>{ymin}</ymin><xmax>{xmax}</xmax><ymax>{ymax}</ymax>"
  "</bndbox></object>"
)
_VALID = {
  "name": "car",
  "difficult": 0,
  "xmin": 5,
  "ymin": 7,
  "xmax": 30,
  "ymax": 40,
}


def cases() -> Iterator[Case]:
  """Values, XML, lists, pictures, archives; and odd ones."""
  yield from _annotations()
  yield from _lists()
  yield from _files()
  yield from _odd()
  data = _document(_OBJECT.format(**_VALID))
  yield from mutations.cases("000002", data, _with_xml, _as_valid)


def _with_xml(data: bytes, folder: pathlib.Path):
  return _CHANGED({_XML: data}, folder)


def _document(objects: str) -> bytes:
  return f"<annotation><folder>VOC2007</folder>{objects}</annotation>".encode()


def _object(**fields: Any) -> bytes:
  return _document(_OBJECT.format(**{**_VALID, **fields}))


def _as_valid(found: Any) -> bool:
  objects = found["000002.jpg"]["objects"]
  assert len(found) == 3 and objects["label"].tolist() == [6]
  return len(objects["bbox"]) == 1


def _annotations() -> Iterator[Case]:
  """Boxes outside the picture, and one XML of every way to read it."""
  yield from case.rows(
    _with_xml,
    ("xmin is -4", _object(xmin=-4), "xmin|box"),
    ("xmax is 61", _object(xmax=61), "xmax|box", _as_valid),
    ("the XML is empty", b""),
    ("the XML is cut", _object()[:120]),
    ("the XML is an entity bomb", _bomb()),
    names=("000002",),
  )


def _bomb() -> bytes:
  many = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
  declared = f'<!DOCTYPE x [<!ENTITY a0 "ha">{many}]>'.encode()
  return declared + _object().replace(b"car", b"&a9;")


def _lists() -> Iterator[Case]:
  yield from case.rows(
    lambda data, folder: _CHANGED({_LIST: data}, folder),
    ("empty", b"", "test.txt"),
    ("a name twice", b"000001\n000002\n000002\n", "000002"),
    ("a name that is not there", b"000001\n000009\n", "000009"),
    ("a path", b"000001\n../../etc/passwd\n", "passwd"),
    ("binary", b"\xff\xfe\0\0" * 10, "test.txt"),
    kinds="the list is {}",
  )


def _files() -> Iterator[Case]:
  whole = pascal_c_test.files()
  yield from case.rows(
    _CHANGED,
    ("a picture cut", {_PICTURE: whole[_PICTURE][:200]}, "000002.jpg"),
    ("a picture absent", {_PICTURE: None}, "000002.jpg"),
    ("an XML absent", {_XML: None}, "000002.xml"),
    ("no list", {_LIST: None}, "test.txt"),
  )
  data = tiny_files.tar(whole)
  # Two blocks of zeros end a tar, and more fill it up.
  end = len(data.rstrip(b"\0")) + -len(data.rstrip(b"\0")) % 512
  yield from case.rows(
    lambda data, folder: builds.of_files("pascal_c", {_TAR: data}, folder),
    ("a tar cut in half", data[: len(data) // 2], "VOCtest"),
    ("a tar without its end", data[:end], "VOCtest"),
    ("a tar", data, builds.count(3)),
  )


def _odd() -> Iterator[Case]:
  whole = _object()
  latin = b'<?xml version="1.0" encoding="ISO-8859-1"?>'
  more = b"<pose>Left</pose><x/></object>"
  yield from case.rows(
    _with_xml,
    ("a comment", whole.replace(b"<object>", b"<!-- a car --><object>")),
    (
      "blanks",
      whole.replace(b">5<", b"> 5\n<").replace(b">car<", b">\n car <"),
    ),
    ("tenths", whole.replace(b">5<", b">5.4<")),
    (
      "Latin-1 with a declaration",
      latin + whole.replace(b"VOC2007", b"caf\xe9"),
    ),
    ("a byte order mark", b"\xef\xbb\xbf" + whole),
    ("more elements", whole.replace(b"</object>", more)),
    kinds="odd: {}",
    right=_as_valid,
  )
  yield from case.rows(
    _CHANGED,
    ("odd: a list of Windows", {_LIST: b"000001\r\n000002\r\n000004\r\n"}),
    ("odd: a picture without objects", {_XML: _document("")}),
    right=builds.count(3),
  )
