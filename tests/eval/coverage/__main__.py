"""Runs cases, prints what they gave, and writes the page: see the package."""

import argparse
import time

import tests.eval.coverage as package
from tests.eval.coverage import case as case_lib
from tests.eval.coverage import page


def main() -> None:
  """Runs the cases that the arguments say."""
  parser = argparse.ArgumentParser(
    description=package.__doc__,
    formatter_class=argparse.RawDescriptionHelpFormatter,
  )
  topics = case_lib.topics()
  parser.add_argument("--topic", choices=topics, help="of these cases alone")
  parser.add_argument("--data", default="", help="what their words contain")
  parser.add_argument("--sets", type=int, help="of every case, not its own")
  parser.add_argument("--write", action="store_true", help="keep the results")
  args = parser.parse_args()
  every = [(topic, case) for topic, of in topics.items() for case in of]
  results: dict[page.Key, case_lib.Tally] = {}
  for topic, case in every:
    if args.topic in (None, topic) and args.data in case.data:
      start = time.process_time()
      tallies = case_lib.run(case, args.sets or case.sets)
      seconds = time.process_time() - start
      print(f"{topic}: {case.data} ({seconds:.0f} s of CPU)")
      for name, tally in tallies.items():
        results[topic, case.data, name] = tally
        print(f"  {name}: {page.cell_text(tally)}", flush=True)
      if args.write:
        page.keep(results, [(topic, of.data) for topic, of in every])


if __name__ == "__main__":
  main()
