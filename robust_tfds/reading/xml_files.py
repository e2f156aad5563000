"""Opens XML without entities, document types or depth: VOC's annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_tfds import errors
from robust_tfds.reading import limits

if TYPE_CHECKING:
  from xml.etree.ElementTree import Element


def xml_text(data: bytes, source: str) -> Element:
  """The root element of an XML text.

  Args:
    data: the bytes, in UTF-8 or what their declaration says.
    source: what a refusal begins with, a path or `archive: member`.

  Raises:
    UserError: not XML, cut off, too large or too deep; it declares entities or
      a document type, which an annotation has no use for and which can ask for
      gigabytes or read other files.
  """
  from xml.etree.ElementTree import ParseError

  import defusedxml
  from defusedxml.ElementTree import fromstring

  limits.check(len(data), limits.XML_BYTES, source, "bytes of XML")
  try:
    root = fromstring(data, forbid_dtd=True)
  except ParseError as e:
    raise errors.UserError(f"{source}: not XML: {e}.") from e
  except defusedxml.DefusedXmlException as e:
    raise errors.UserError(
      f"{source}: declares a document type or entities, which are never read."
      " Remove the declaration."
    ) from e
  except (LookupError, ValueError) as e:
    raise errors.UserError(f"{source}: not XML: {e}.") from e
  _check_depth(root, source)
  return root


def _check_depth(root: Element, source: str) -> None:
  level = [root]
  for _ in range(limits.allowed(limits.XML_DEPTH)):
    level = [child for element in level for child in element]
    if not level:
      return
  raise errors.UserError(
    f"{source}: elements within each other, more than"
    f" {limits.allowed(limits.XML_DEPTH)} deep."
  )
