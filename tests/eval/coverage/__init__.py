"""How often the printed intervals hold the number of the population: simulations.

    python -m tests.eval.coverage                        # all cases, a line each
    python -m tests.eval.coverage --topic=video --sets=1000
    python -m tests.eval.coverage --write                # results.tsv and the page

A case (`case.py`) is a population whose numbers are known, in closed form or from a
huge sample, and the project's own path from its data to printed intervals: columns
through `Task.score`, draws through a board or a comparison, never a formula of its
own. Data sets are drawn again and again; what is counted is how often the number of
the population lies in the interval, and on which side of it where it does not.

To add one: a `Case` in `CASES` of `cases/<topic>.py`; a file more is a topic more, and
a section of the page, under its `WORDS`. `latent.py` draws right and wrong answers of
clustered examples whose errors are known in closed form; in `case.py` `of_rows` takes
intervals from the rows of a table, and `light` leaves out what a case does not count.
Then `python -m tests.eval.coverage --write --topic=<topic> --data=<words of the case>`
keeps its results in `results.tsv` and writes docs/evidence/INTERVALS.md between
its marks;
where two did so at once, take one's file and write again. The matrices are small:
`OPENBLAS_NUM_THREADS=1` halves the time.

A case says how many data sets the page has of it at least, `sets`, and what share of
the intervals covers: `least`. Where less than 93 % do, the words of the case or of
its topic say why.
Numbers of 95 % that cover too rarely are a finding, not a reason to lower it.
"""
