"""Run the notebooks, each in an empty folder, and store their output.

  python tools/notebooks.py [--out=FOLDER] [NAME.ipynb ...]

What runs is the robust_tfds of the Python that this is started with; without --out
the notebooks themselves are written, their badges too. Outputs of cells with the tag
`quiet` (the install cell, a run's lines) are left out; pictures become small JPEGs.
"""

import argparse
import base64
import io
import pathlib
import tempfile
import tomllib

import nbclient
import nbformat
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "notebooks"
# What is constrained to the version that is there cannot be moved by pip.
INSTALL = """\
# JAX, TensorFlow and CUDA stay as they are here (Colab has them): pip moves none of them.
%pip list --format=freeze | grep -iE "^(jax|nvidia|tensorflow==|torch)" > held.txt
%pip install -q "robust_tfds{extra}" -c held.txt"""
_COLAB = "https://colab.research.google.com"
_WIDTH_PX, _QUALITY = 800, 80


def badge(name: str) -> str:
  """Return a notebook's badge, with the Repository of pyproject.toml if it has one.

  Without one it opens Colab's list of GitHub's notebooks, and says what to do.
  """
  text = (ROOT / "pyproject.toml").read_text("utf-8")
  urls = tomllib.loads(text)["project"]["urls"]
  place = (
    urls.get("Repository", "").removeprefix("https://github.com").strip("/")
  )
  end = f"/{place}/blob/main/notebooks/{name}" if place else "/"
  picture = f"![Open in Colab]({_COLAB}/assets/colab-badge.svg)"
  said = "" if place else " This file is not published yet: upload it there."
  return f"[{picture}]({_COLAB}/github{end}){said}"


def executed(path: pathlib.Path) -> nbformat.NotebookNode:
  """Return a notebook with the output of its cells.

  Raises:
    CellExecutionError: a cell failed.
  """
  book = nbformat.read(path, 4)
  with tempfile.TemporaryDirectory() as folder:
    place = {"metadata": {"path": folder}}
    nbclient.NotebookClient(
      book, timeout=900, record_timing=False, resources=place
    ).execute()
  lines = book.cells[0].source.splitlines()
  book.cells[0].source = "\n".join([badge(path.name), *lines[1:]])
  for cell in book.cells:
    if "quiet" in cell.metadata.get("tags", ()):
      cell.outputs = []
    for output in cell.get("outputs", ()):
      _shrink(output.get("data", {}))
  return book


def _shrink(shown: dict[str, str]) -> None:
  """Replace a PNG by a small JPEG."""
  if png := shown.pop("image/png", ""):
    image = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    image.thumbnail((_WIDTH_PX, 10 * _WIDTH_PX))
    image.save(file := io.BytesIO(), "JPEG", quality=_QUALITY)
    shown["image/jpeg"] = base64.b64encode(file.getvalue()).decode("ascii")


def main() -> None:
  """Run the named notebooks, or all."""
  parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
  parser.add_argument("names", nargs="*")
  parser.add_argument("--out", type=pathlib.Path, default=FOLDER)
  args = parser.parse_args()
  for name in args.names or sorted(p.name for p in FOLDER.glob("*.ipynb")):
    book = executed(FOLDER / name)
    (args.out / name).write_text(nbformat.writes(book) + "\n", "utf-8")
    print(f"{args.out / name}: ran", flush=True)


if __name__ == "__main__":
  main()
