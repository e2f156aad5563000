"""The one door for files that others wrote.

Whatever a user, a download or another program left on disk is opened here: with
limits (`limits`), with encodings that are named, without pickles, entities or
links, and with errors that begin with the path and the field. A test forbids
`json.load`, `np.load`, `zipfile`, `tarfile`, `ElementTree` and `Image.open`
elsewhere (tests/architecture_test.py). What each door of the package accepts:
docs/evidence/ROBUST_INPUT.md. Imports nothing of ours but `errors`.
"""

from robust_tfds.reading.arrays import npy_file, npz_bytes, npz_file
from robust_tfds.reading.text_files import (
  check_header,
  csv_file,
  csv_text,
  decode,
  file_bytes,
  file_size,
  json_file,
  json_text,
  line_list,
  records,
  text_file,
  xml_text,
)

__all__ = [
  "check_header",
  "csv_file",
  "csv_text",
  "decode",
  "file_bytes",
  "file_size",
  "json_file",
  "json_text",
  "line_list",
  "npy_file",
  "npz_bytes",
  "npz_file",
  "records",
  "text_file",
  "xml_text",
]
