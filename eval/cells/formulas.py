"""CSV text that no spreadsheet takes for a formula.

A spreadsheet runs text that begins with `=`, `+`, `-`, `@`, a tab or a line break
(OWASP, CSV Injection). So such a text gets an apostrophe in front, which
spreadsheets do not show; so does text with such a character after its own
apostrophes. Readers of the file remove one apostrophe if such a character
follows.
"""

_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n")
_MARK = "'"


def neutral(text: str) -> str:
  """Return text in the form for a CSV file.

  >>> neutral("=1+1"), neutral("resnet50"), neutral("'=x")
  ("'=1+1", 'resnet50', "''=x")
  """
  if text.lstrip(_MARK).startswith(_BEGINNINGS):
    return _MARK + text
  return text


def plain(text: str) -> str:
  """Return the original text, the inverse of `neutral`.

  >>> plain("'=1+1"), plain("resnet50"), plain("''=x"), plain("'tis")
  ('=1+1', 'resnet50', "'=x", "'tis")
  """
  if text.startswith(_MARK) and text.lstrip(_MARK).startswith(_BEGINNINGS):
    return text[len(_MARK) :]
  return text
