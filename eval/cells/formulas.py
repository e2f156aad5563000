"""Text in CSV files that no spreadsheet takes for a formula.

A spreadsheet runs text that begins with `=`, `+`, `-`, `@`, a tab or a line break
(OWASP, CSV Injection). The rule: such a text gets an apostrophe before it, which
spreadsheets do not show; so does one that has such a character behind apostrophes
of its own. Whoever reads the file takes one apostrophe off again where these
characters follow.
"""

_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n")
_MARK = "'"


def neutral(text: str) -> str:
  """Text as a CSV file holds it.

  >>> neutral("=1+1"), neutral("resnet50"), neutral("'=x")
  ("'=1+1", 'resnet50', "''=x")
  """
  if text.lstrip(_MARK).startswith(_BEGINNINGS):
    return _MARK + text
  return text


def plain(text: str) -> str:
  """The text again, the opposite of `neutral`.

  >>> plain("'=1+1"), plain("resnet50"), plain("''=x"), plain("'tis")
  ('=1+1', 'resnet50', "'=x", "'tis")
  """
  if text.startswith(_MARK) and text.lstrip(_MARK).startswith(_BEGINNINGS):
    return text[len(_MARK) :]
  return text
