"""COCO's formats: run lengths, rows and files, without TFDS."""
