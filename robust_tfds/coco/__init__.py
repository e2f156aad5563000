"""COCO's formats: run lengths, rows and files. Loads no TFDS."""
