"""Zero-shot classification: the text side of CLIP's models.

`prompts.py` has templates and ImageNet's names, `tokenizer.py` makes ids of texts,
`tower.py` embeds ids, `texts.py` makes one embedding a class of all of them.
`robust-tfds text` is `__main__.py`; a run does the same in
`eval/run/model/zero_shot.py`.
"""
