"""The forms that choose rows and columns; scripts show them and make them work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_tfds.eval.site.board_table import TOKENS
from robust_tfds.eval.site.markup import Html, tag, words
from robust_tfds.eval.site.view import View

_ANY = ("", "all")


def of_board(view: View) -> Html:
  """By model, state, corruption and level."""
  present = {TOKENS.get(e.state, "whole") for e in view.board.entries}
  names = {token: state for state, token in TOKENS.items()}
  states = [("ranked", "ranked"), ("ours", "our runs")] + [
    (token, names[token]) for token in names if token in present
  ]
  noun = view.board.facts.noun.capitalize()
  level = view.board.family.level_noun.capitalize()
  levels = sorted({c.level for c in view.conditions if c.level})
  fields = [
    _text("q", "Model"),
    _select("s", "Entries", states),
    _select("c", noun, _corruptions(view)),
    _select("l", level, [(str(n), str(n)) for n in levels]),
    tag("button", "Download these rows (CSV)", type="button", data_csv="board"),
  ]
  return _form(fields)


def of_index(
  tasks: Sequence[tuple[str, str]], corruptions: Iterable[str]
) -> Html:
  """By model or data set, task and corruption."""
  names = [(name, words(name)) for name in corruptions]
  return _form(
    [
      _text("q", "Model or data set"),
      _select("t", "Task", tasks),
      _select("c", "Corruption or perturbation", names),
    ]
  )


def _form(fields: Sequence[Html]) -> Html:
  """Hidden until the script is there."""
  return tag(
    "form",
    *fields,
    tag("button", "Show all", type="reset"),
    tag("output", aria_live="polite"),
    class_="filter",
    role="search",
    aria_label="Choose what is shown",
    hidden=True,
  )


def _corruptions(view: View) -> list[tuple[str, str]]:
  """Groups, then names."""
  family = view.board.family
  groups = dict.fromkeys(family.row(n).group for n in view.corruptions)
  return [(f"group:{g}", f"all {g}") for g in groups] + [
    (name, words(name)) for name in view.corruptions
  ]


def _text(name: str, label: str) -> Html:
  field = tag("input", name=name, type="search", autocomplete="off")
  return tag("label", tag("span", label), field)


def _select(name: str, label: str, options: Sequence[tuple[str, str]]) -> Html:
  choices = [tag("option", t, value=v) for v, t in (_ANY, *options)]
  return tag("label", tag("span", label), tag("select", *choices, name=name))
