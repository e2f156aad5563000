"""Pictures of a page: which kind of file, whole pixels, boxes, words."""

import base64
import io

import numpy as np
from absl.testing import parameterized
from PIL import Image

from eval.cells.files.overlay import Overlay
from eval.charts import pictures
from eval.report.pages import gallery

_NOISE = np.random.default_rng(0).integers(0, 256, (80, 100, 3), np.uint8)


def _read(uri: str) -> tuple[str, np.ndarray]:
  head, _, data = uri.partition(",")
  image = Image.open(io.BytesIO(base64.b64decode(data)))
  return head, np.asarray(image)


class GalleryTest(parameterized.TestCase):
  def test_words_and_empty_places(self):
    line = pictures.Line(
      [
        pictures.Picture(_NOISE, "3", "6.7 %"),
        pictures.Picture(None),
        pictures.Picture(_NOISE[:9, :9], alt="A fog."),
      ],
      "fog",
      note="n",
    )
    (shown,) = gallery.embed([line])
    self.assertEqual((shown.name, shown.note), ("fog", "n"))
    first, second = shown.pictures
    self.assertEqual((first.alt, first.size), ("fog, 3, 6.7 %", (100, 80)))
    self.assertEqual((second.alt, second.small), ("A fog.", True))

  def test_boxes_masks_and_their_labels(self):
    mask = np.array([[True, False]])
    box = Overlay("hit", (10, 20, 30, 60), "cat", mask, (12, 22))
    picture = pictures.Picture(_NOISE, boxes=[box], view=(5, 0, 95, 80))
    (line,) = gallery.embed([pictures.Line([picture])])
    (shown,) = line.pictures
    self.assertEqual(shown.view, "5 0 90 80")
    self.assertEqual(list(shown.boxes), [("hit", 10, 20, 20, 40)])
    ((kind, text, x, y),) = shown.labels
    self.assertEqual((kind, text), ("hit", "H cat"))
    self.assertTrue(5 <= x <= 95 and 0 <= y <= 80)
    ((uri, *place),) = shown.masks
    self.assertEqual(place, [12, 22, 2, 1])
    _, veil = _read(uri)
    self.assertEqual(veil[..., 3].tolist(), [[96, 0]])
