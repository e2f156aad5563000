"""The page of definitions: every metric of every task."""

from __future__ import annotations

from robust_tfds.eval.compare.boards import board as board_lib
from robust_tfds.eval.metrics import definitions
from robust_tfds.eval.site import layout, page
from robust_tfds.eval.site.markup import Html, join, tag

_WORDS = {
  "Interval": "The 95 % interval of a number, from one bootstrap draw of whole"
  " groups (pictures, sequences, videos) for all conditions, or from a jackknife"
  " over blocks of them. What a published baseline divides by is a constant.",
  "Rank": "The place among the entries of a board that are ranked; equal numbers"
  " share one. The range below it holds the ranks that the paired differences leave"
  " open at 95 % over all pairs (Holm).",
  "Board": "Models whose data facts agree: set, version, examples, codec, edition,"
  " geometry and the like. Runs of other facts stand in a board of their own,"
  " which says what differs.",
  board_lib.PARTIAL.capitalize(): "Conditions are missing, so that nothing can be"
  " averaged; not ranked.",
  board_lib.SEEN.capitalize(): "The model was trained on conditions that it is"
  " tested on; not ranked.",
  board_lib.PRINTED.capitalize(): "A number that a paper prints, with its source;"
  " ranked only where the paper's protocol is the board's.",
}


def of() -> page.Page:
  """The page."""
  return page.Page(
    layout.DEFINITIONS,
    "Definitions",
    [_contents(), _words(), *(_topic(t) for t in definitions.TOPICS)],
    up=[("All boards", layout.INDEX)],
  )


def _contents() -> Html:
  links = [
    tag("a", topic.title, href=f"#{_id(topic)}") for topic in definitions.TOPICS
  ]
  return tag(
    "nav", join(links, " "), class_="contents", aria_label="On this page"
  )


def _words() -> Html:
  parts = [
    tag("div", tag("dt", word), tag("dd", meaning))
    for word, meaning in _WORDS.items()
  ]
  return page.section("Words of the boards", tag("dl", *parts, class_="words"))


def _topic(topic: definitions.Topic) -> Html:
  parts = [_definition(topic, d) for d in topic.metrics]
  return page.section(
    topic.title, tag("p", topic.words), *parts, id_=_id(topic)
  )


def _definition(
  topic: definitions.Topic, definition: definitions.Metric
) -> Html:
  sense = f"{definition.sense_words}; unit: {definition.unit_words}; in tables"
  lines = [
    tag("li", sense[:1].upper() + sense[1:], " ", tag("b", definition.name)),
    tag("li", definition.source) if definition.source else Html(),
  ]
  return tag(
    "article",
    tag("h3", definition.full_heading),
    tag(
      "div",
      tag("p", definition.words),
      tag("code", definition.formula) if definition.formula else Html(),
      tag("ul", *lines, class_="note"),
    ),
    id=definitions.anchor(topic, definition),
  )


def _id(topic: definitions.Topic) -> str:
  return topic.task or topic.title.lower().replace(" ", "-")
