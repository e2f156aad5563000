"""What docs/evidence/INTERVALS.md has behind its own text: the population of every
number's interval, as its definition says.
"""

from eval.metrics import definitions


def text() -> str:
  """Return the section with its table."""
  lines = ["\n## The population of every number\n"]
  lines += ["| number | what the interval holds |", "|---|---|"]
  for topic in definitions.topics():
    lines.append(f"| **{topic.title}** | |")
    for metric in topic.metrics:
      heading = f"{metric.full_heading} (`{metric.name}`)"
      lines.append(f"| {heading} | {metric.population} |")
  return "\n".join(lines) + "\n"
