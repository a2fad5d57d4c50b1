#!/usr/bin/env python3
"""Runs the recorded cases against a binary and holds the result against our list of exceptions.

    check.py --cases DIR --bin PATH

DIR holds run.py and one folder a case. A case that fails must stand in exceptions.json with its reason, and a case
that stands there must fail: an exception that is no longer one is taken out. A missing runner is a failure.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

EXCEPTIONS = Path(__file__).resolve().parent / "exceptions.json"


def failing(lines):
    """The names in the runner's `FAIL name[ [mark]]: difference` lines."""
    for line in lines:
        if line.startswith("FAIL "):
            yield line[len("FAIL "):].split(":", 1)[0].split(" [", 1)[0].strip()


def run(cases, binary):
    runner = cases / "run.py"
    if not runner.is_file():
        sys.exit(f"no conformance runner: {runner} is missing")
    process = subprocess.Popen(
        [sys.executable, str(runner), "--bin", str(binary), "--cases", str(cases), "--beyond"],
        stdout=subprocess.PIPE, text=True)
    lines = []
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    code = process.wait()
    if not lines or " passed, " not in lines[-1]:
        sys.exit(f"the conformance runner did not come to its end (exit {code})")
    return set(failing(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    options = parser.parse_args()
    exceptions = json.loads(EXCEPTIONS.read_text())
    unknown = sorted(name for name in exceptions if not (options.cases / name).is_dir())
    failed = run(options.cases.resolve(), options.bin.resolve())
    unlisted = sorted(failed - set(exceptions))
    passing = sorted(set(exceptions) - failed - set(unknown))
    for name in unlisted:
        print(f"not excepted: {name}")
    for name in passing:
        print(f"excepted, but holds: {name} ({exceptions[name]})")
    for name in unknown:
        print(f"excepted, but there is no such case: {name}")
    for name in sorted(failed & set(exceptions)):
        print(f"excepted: {name} ({exceptions[name]})")
    sys.exit(1 if unlisted or passing or unknown else 0)


if __name__ == "__main__":
    main()
