"""Notes about differences of a run's pixels from the published ones.

ImageNet-C's published pictures went through JPEG of quality 85, ImageNet-P's videos
through H.264; AlexNet's numbers are of these. A number of other pixels stands, and
its note says what they are, so that it is not ranked with the others.
"""

_LOSSLESS = ("raw", "png")


def note(dataset: str, codec: str, geometry: str = "") -> str:
  """Return the note about a run's pixels for its rows; '' if they are as published.

  Args:
    dataset: its name; predictions of other programs may be on other data sets.
    codec: the codec of the pixels that models saw; empty if unknown.
    geometry: their crop; empty for the data set's own.

  >>> note("imagenet_c", "raw")
  'codec raw (lossless; published: jpeg85)'
  >>> note("imagenet_c", "jpeg85"), note("digits_c", "raw")
  ('', '')
  """
  return "; ".join(
    filter(None, (_codec(dataset, codec), _crop(dataset, geometry)))
  )


def _codec(dataset: str, codec: str) -> str:
  from robust_tfds import datasets

  published = datasets.published_codec(dataset)
  if not codec or not published or codec in (published, datasets.PUBLISHED):
    return ""
  loss = "lossless; " if codec in _LOSSLESS else ""
  return f"codec {codec} ({loss}published: {published})"


def _crop(dataset: str, geometry: str) -> str:
  from robust_tfds import datasets
  from robust_tfds.building import geometry as geometry_lib
  from robust_tfds.corruptions import spec

  if not geometry or dataset not in datasets.names():
    return ""
  edition = datasets.builder_class(dataset).edition_of(geometry)
  side = geometry_lib.shape(geometry)[0]
  if edition not in spec.EDITIONS or side == spec.edition(edition).size_px:
    return ""
  size = spec.edition(edition).size_px
  return f"crop {geometry}, corrupted by edition {edition} ({size} px)"
