"""Figure 4: training pictures and their stylized versions."""

from eval.charts import pictures
from eval.report.figures import base
from eval.report.figures.parts import picture_pairs, sheet
from robust_tfds.reading import picture_folders

_MAX_PAIRS = 5  # pairs that are drawn
_LONGEST = 26  # letters of a name
_COLUMNS = ("picture", "kind", "file", "height", "width", "source")
_WORDS = "training on both folders together is the paper's combined setting"


class Figure4(base.PaperFigure):
  """The first pictures of the user's two folders, a column per pair."""

  def drawn(self, request: base.Request) -> base.Drawn:
    clean, stylized = self.folders(request)
    pairs = picture_pairs.find_pairs(clean, stylized)
    shown = pairs.listed[:_MAX_PAIRS]
    drawn: list[pictures.Line] = []
    rows: list[list[sheet.Cell]] = []
    for kind in self.needs_folders:
      line = []
      for pair in shown:
        file = getattr(pair, kind)
        image, size = picture_pairs.pixels(file)
        title = _short(pair.name) if not drawn else ""
        line.append(pictures.Picture(image, title))
        source = f"own pictures, --{kind}"
        rows.append([pair.name, kind, file.name, *size, source])
      drawn.append(pictures.Line(line, kind))
    order = {pair.name: i for i, pair in enumerate(shown)}
    rows.sort(key=lambda row: order[str(row[0])])
    fig = pictures.draw(drawn, 2.2, name_width=0.7)
    foot = [
      f"own pictures; {len(pairs.listed):,} of {pairs.clean:,} have a stylized"
      f" version, the first {len(shown)} by name are shown",
      _WORDS,
    ]
    return base.Drawn(fig, foot, sheet.Sheet(_COLUMNS, rows))


def _short(name: str) -> str:
  """Return a name that fits above its picture."""
  text = picture_folders.printable(name)
  return text if len(text) <= _LONGEST else f"…{text[1 - _LONGEST :]}"
