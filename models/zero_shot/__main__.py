"""Make the head of a CLIP model from prompts and class names.

  robust-tfds text clip_vit_b_32 CHECKPOINT --classes=imagenet --out=head.npz
  robust-tfds text openclip_vit_l_14 CHECKPOINT --classes=pets.txt \\
      --prompts='a photo of a {}, a type of pet.' --out=pets.npz

The arguments are NAME CHECKPOINT: a CLIP model, and the file of both towers, as
`models.convert.load` takes it. OUT has an array `text` with one embedding of length 1
per class. OUT.report.json has the sha256 of names and prompts. `robust-tfds convert
NAME CHECKPOINT FILE --head=OUT` joins the head with the vision tower. A run does not
need this file: `evaluate(NAME, data, checkpoint=..., prompts="openai80")`.
"""

import json
from collections.abc import Sequence

from absl import app, flags

from robust_tfds import command, reading
from robust_tfds.storage import paths


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_string(
    "classes",
    None,
    "File with one class per line (words, or class<TAB>words), or `imagenet`, the"
    " curated names of open_clip_torch. Required.",
    required=True,
  )
  flags.DEFINE_string(
    "prompts",
    "openai80",
    "`openai80`, `openai80-clean` (without the prompts that name a corruption),"
    " `openai7`, `single`, a file with one template per line, or a template with {}.",
  )
  flags.DEFINE_string(
    "out", None, "The .npz file to write. Required.", required=True
  )


def main(argv: Sequence[str]) -> None:
  """Write one head."""
  from models.convert import report, sources
  from models.zero_shot import prompts
  from models.zero_shot import texts as texts_lib

  if len(argv) != 3:
    raise app.UsageError("Name a model and a file: NAME CHECKPOINT.")
  settings, name = flags.FLAGS, argv[1]
  out = report.npz_path(paths.parse(settings.out, "--out"))
  names: Sequence[str]
  published = settings.classes == "imagenet"
  if published:
    names, owner = prompts.imagenet()
  else:
    file = paths.parse(settings.classes, "--classes")
    lines = reading.line_list(file)
    names, owner = [x.rpartition("\t")[2] for x in lines], f"{file}'s"
  texts = texts_lib.make(names, settings.prompts, owner, published=published)
  located = sources.locate(argv[2])
  head = texts_lib.head(name, located, texts)
  for note in head.notes:
    print(f"{name}: {note}")
  digest = report.write_npz({"text": head.embeddings()}, out)
  facts = {"model": name, "checkpoint_source": located.name, **head.facts}
  out.with_name(f"{out.name}.report.json").write_text(
    json.dumps(facts, indent=2) + "\n", "utf-8"
  )
  print(f"{out}: text {list(head.placeholder.shape)}, sha256 {digest[:12]}")


if __name__ == "__main__":
  command.run(main, define_flags)
