"""Convert a checkpoint to one of our npz files.

  robust-tfds convert resnet50 resnet50.pth resnet50.npz
  robust-tfds convert resnet18 mine.safetensors mine.npz --num_classes=10
  robust-tfds convert dinov2_vits14_linear body.pth out.npz --head=linear.pth

The arguments are NAME FILE OUT: NAME is one of `models.names()`, FILE a path or
a name as `models.convert.load` takes (`timm:resnet50.a1_in1k`). The command
writes OUT (our paths and layout, no pickles), OUT.sha256 and OUT.report.json:
the place of every array, and, if torch and torchvision or timm are installed
and know the model, the distance of our logits from theirs.
"""

from collections.abc import Sequence

from absl import app, flags

from robust_tfds import command
from robust_tfds.storage import paths


def define_flags() -> None:
  """Define the command's flags."""
  flags.DEFINE_integer(
    "num_classes", None, "Number of classes of the model; default: its own."
  )
  flags.DEFINE_integer(
    "input_px", None, "Side of the model's pictures in px; default: its own."
  )
  flags.DEFINE_string(
    "head", None, "A second checkpoint, of the head alone; default: none."
  )


def main(argv: Sequence[str]) -> None:
  """Convert one checkpoint."""
  from models.convert import match, report, sources

  if len(argv) != 4:
    raise app.UsageError("Name a model and two files: NAME FILE OUT.")
  settings = flags.FLAGS
  out = paths.parse(argv[3])
  located = sources.locate(argv[2])
  head = sources.locate(settings.head) if settings.head else None
  loaded = match.load(
    argv[1],
    located,
    num_classes=settings.num_classes,
    input_px=settings.input_px,
    head=head,
  )
  match.warn(loaded)
  digest = report.write_npz(loaded.variables, out)
  print(report.write_report(located, loaded, digest, out, head=head))


if __name__ == "__main__":
  command.run(main, define_flags)
