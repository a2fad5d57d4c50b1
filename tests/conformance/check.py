#!/usr/bin/env python3
"""Runs the recorded cases against a binary and holds the result against our list of exceptions.

    check.py --cases DIR --bin PATH

DIR holds run.py and one folder a case. A case that fails must stand in exceptions.json with its reason, and a case
that stands there must fail: an exception that is no longer one is taken out. Where it depends on timing whether a case
holds, `{"reason": …, "may_pass": true}` stands in place of the reason. A missing runner is a failure.
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


class Excepted:
    """Why a case may fail, and whether it may hold all the same."""

    def __init__(self, entry):
        self.reason = entry if isinstance(entry, str) else entry["reason"]
        self.may_pass = not isinstance(entry, str) and entry["may_pass"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    options = parser.parse_args()
    exceptions = {name: Excepted(entry) for name, entry in json.loads(EXCEPTIONS.read_text()).items()}
    failed = run(options.cases.resolve(), options.bin.resolve())
    for name in sorted(failed & exceptions.keys()):
        print(f"excepted: {name} ({exceptions[name].reason})")
    unknown = {name for name in exceptions if not (options.cases / name).is_dir()}
    passing = {name for name, excepted in exceptions.items() if not excepted.may_pass} - failed - unknown
    unlisted = failed - exceptions.keys()
    for complaint, names in [
        ("not excepted", unlisted),
        ("excepted, but holds", passing),
        ("excepted, but there is no such case", unknown),
    ]:
        for name in sorted(names):
            print(f"{complaint}: {name}")
    sys.exit(1 if unlisted or passing or unknown else 0)


if __name__ == "__main__":
    main()
