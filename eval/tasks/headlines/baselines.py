"""Baselines: what normalised numbers are divided by."""

from collections.abc import Sequence

from eval.metrics import corruption_error
from robust_tfds import errors

_MODEL = "model:"
PUBLISHED = "alexnet"  # the baseline of the papers


def model_label(baseline: str) -> str:
  """Return the label in `model:<label>`; '' for any other baseline."""
  return baseline.removeprefix(_MODEL) if baseline.startswith(_MODEL) else ""


def holds(baseline: str, dataset: str, edition: str = "") -> bool:
  """Return whether a published baseline has numbers for a data set.

  It has them for the sets that its file lists. What data an unknown name stands
  for cannot be known here, so names of other data sets pass.
  """
  from robust_tfds import datasets

  published = corruption_error.load_baseline(baseline)
  if edition and dataset in published["datasets"]:
    return edition in published["editions"]
  return dataset in published["datasets"] or dataset not in datasets.names()


def default(dataset: str) -> str:
  """Return the papers' baseline if it has numbers for a data set; else ''.

  The result is also '' for a set that is not ours: whoever knows that it is
  ImageNet-C names the baseline.
  """
  published = corruption_error.load_baseline(PUBLISHED)
  return PUBLISHED if dataset in published["datasets"] else ""


def describe(
  baseline: str, dataset: str, edition: str = "", codec: str = ""
) -> str:
  """Return a baseline in words; without one, the reason why none is published.

  If its numbers were measured with another codec than the run's, the text says
  so: the numbers stand, and their notes name the codec too.
  """
  words = corruption_error.describe(baseline)
  if baseline and not model_label(baseline):
    return words + _other_codec(baseline, dataset, codec)
  if baseline or holds(PUBLISHED, dataset, edition):
    return words
  return f"{words}; {_why(PUBLISHED, dataset, edition)}"


def note(baseline: str, dataset: str) -> str:
  """Return the note of numbers that a baseline of other sets normalises.

  >>> note("alexnet", "mine_c")
  "AlexNet's numbers are of imagenet_c and imagenet_p; mine_c is an unknown set"
  >>> note("alexnet", "imagenet_c"), note("model:a", "mine_c"), note("", "mine_c")
  ('', '', '')
  """
  from robust_tfds import datasets

  known = dataset in datasets.names()  # `check` says more about these
  if known or not baseline or model_label(baseline):
    return ""
  published = corruption_error.load_baseline(baseline)
  listed = " and ".join(published["datasets"])
  return f"{published['name']}'s numbers are of {listed}; {dataset} is an unknown set"


def check(
  baseline: str, labels: Sequence[str], dataset: str, edition: str = ""
) -> None:
  """Check a run's baseline.

  Args:
    baseline: a name in `eval/papers/baselines/`, `model:<label>`, or empty.
    dataset: the evaluated data set.
    edition: edition of its corruptions; empty if unknown.

  Raises:
    UserError: an unknown name or label, or numbers for another data set.
  """
  label = model_label(baseline)
  if label:
    if label not in labels:
      raise errors.unknown_error("baseline model", label, labels)
    return
  if baseline and baseline not in corruption_error.baselines():
    raise errors.unknown_error(
      "baseline", baseline, corruption_error.baselines()
    )
  if baseline and not holds(baseline, dataset, edition):
    raise errors.UserError(
      f"baseline={baseline!r} does not fit: {_why(baseline, dataset, edition)}. Leave the"
      " baseline empty (plain means, as papers report them), or name a model of"
      " the run: model:LABEL."
    )


def _other_codec(baseline: str, dataset: str, codec: str) -> str:
  codecs = (
    corruption_error.load_baseline(baseline).get("codecs", {}).get(dataset, ())
  )
  if not codec or not codecs or codec in codecs:
    return ""
  return f"; its numbers are of codec {' or '.join(codecs)}, these of {codec}"


def _why(baseline: str, dataset: str, edition: str) -> str:
  published = corruption_error.load_baseline(baseline)
  if dataset in published["datasets"]:
    return (
      f"{published['name']}'s published numbers are of the edition"
      f" {' and '.join(published['editions'])}, not of {edition}"
    )
  return (
    f"{published['name']}'s published numbers are of"
    f" {' and '.join(published['datasets'])}, not of {dataset}"
  )
