"""The cases that real agents are taken through. Called by tests/real_agents.sh."""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from place import AGENTS, FIXTURES, Model, Place, until

FIRST = [("say-hello", "propose"), ("say-hello", "apply"), ("say-hello", "verify"), ("arrive", "proof")]
SECOND = [("leave", "decompose"), ("say-goodbye", "propose"), ("say-goodbye", "apply"), ("say-goodbye", "verify"),
          ("leave", "proof")]


class Checks:
    """Counts what holds, and tells what does not."""

    def __init__(self, agent):
        self.agent, self.broken, self.held = agent, 0, 0

    def that(self, claim, holds, detail=""):
        if holds:
            self.held += 1
        else:
            self.broken += 1
            print(f"BROKEN {self.agent}: {claim}" + (f"\n  {detail}" if detail else ""), flush=True)

    def nothing_runs(self, place, when):
        left = place.strays()
        self.that(f"nothing is left running {when}", not left, "; ".join(left))


def outcomes(place):
    """What each concluded spawn amounts to: its key, its transition, how it was recorded."""
    return [(entry["change"], entry["transition"], entry["kind"])
            for entry in place.journal() if "spawn" in entry and "transition" in entry]


def whole_batch(place, model, checks):
    """Two phases, the second of which an agent fills: every step advances, once, and reports for itself."""
    for key, kind in FIRST + SECOND:
        if kind == "proof":
            report = place.step()
            checks.that(f"the proof of {key} passes", report.get("proofOfWork", report).get("passed"), str(report))
            continue
        report = place.step()
        said = (report.get("state"), report.get("change"), report.get("transition"))
        checks.that(f"{kind} of {key} advances", said == ("advanced", key, kind), str(report))
        checks.that(f"{kind} of {key} has a report of the agent's own", report.get("journalRefs"), str(report))
        checks.that(f"{kind} of {key} has no notes", not report.get("notes"), str(report.get("notes")))
        checks.nothing_runs(place, f"after {kind} of {key}")
        if report.get("state") != "advanced":
            return
    checks.that("the batch is done", place.status()["status"] == "done", str(place.status()))

    steps = [step for step in FIRST + SECOND if step[1] != "proof"]
    concluded = [(key, kind, "completion") for key, kind in steps]
    checks.that("each step is concluded once", outcomes(place) == concluded, str(outcomes(place)))
    own = [entry for entry in place.journal() if "spawn" not in entry]
    completed = [entry["change"] for entry in own if entry["kind"] == "completion"]
    checks.that("each step was reported once", completed == [key for key, _ in steps], str(completed))
    progress = [entry["change"] for entry in own if entry["kind"] == "progress"]
    checks.that("the agent's progress is in the journal", progress == ["say-hello", "say-goodbye"], str(progress))
    asked = model.asked()
    begun = sum(1 for request in asked if request["kind"] == "turn" and request["turn"] == 0)
    checks.that("the agent ran once a step", begun == len(steps), f"{begun} sessions for {len(steps)} steps")
    odd = [request for request in asked if request["kind"] not in ("turn", "aux", "count", "other") or request.get("unmet")]
    checks.that("the agent could do all that it was told", not odd, str(odd[:3]))
    refused = [request["last"] for request in asked if "No such file" in str(request.get("last"))]
    checks.that("every file the prompt names is there", not refused, str(refused[:2]))
    log = place.git(place.project, "log", "--format=%s").splitlines()
    checks.that("the agent's commits are there", log[:2] == ["Add say-goodbye", "Add say-hello"], str(log))


def live_view(place, checks):
    """What a person sees of a step: the agent's words and tools, no event as it was printed."""
    code, out, err = place.ratchet("batch", "run", "greeter")
    (place.folder / "live.txt").write_text(out + err)
    checks.that("batch run ends well", code == 0, err[-1000:])
    for part in ("Now the plan.", "✔ success", "✓ advanced"):
        checks.that(f"the live view has {part!r}", part in out, out[-2000:])
    raw = [line for line in out.splitlines() if line.startswith("{")]
    checks.that("no event is shown raw", not raw, "\n  ".join(line[:300] for line in raw[:5]))
    checks.that("the batch is done", place.status()["status"] == "done")
    checks.nothing_runs(place, "after batch run")


def worktree(place, checks):
    """In a linked worktree git writes to two folders outside of the project."""
    for key, kind in FIRST[:2]:
        report = place.step()
        checks.that(f"{kind} of {key} advances in a worktree", report.get("state") == "advanced", str(report))
    log = place.git(place.project, "log", "--format=%s").splitlines()
    checks.that("the agent commits in a worktree", log[0] == "Add say-hello", str(log))


def interrupted(place, checks):
    """Ctrl-C goes to the foreground process group, in which the agent is not."""
    with open(place.folder / "screen.txt", "w", encoding="utf-8") as screen:
        process = subprocess.Popen(["ratchet", "batch", "apply", "greeter"], cwd=place.project, env=place.env,
                                   stdin=subprocess.DEVNULL, stdout=screen, stderr=screen, start_new_session=True)
    until("the agent's command runs", lambda: (place.project / "running").exists())
    until("its children run", lambda: sum("time.sleep" in stray for stray in place.strays()) >= 2)
    asked_at = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=60)
    took = time.monotonic() - asked_at
    checks.nothing_runs(place, "after Ctrl-C")
    checks.that("ratchet dies by SIGINT", process.returncode == -signal.SIGINT, str(process.returncode))
    checks.that("the stop is quick", took < 12, f"{took:.1f} s")
    print(f"  {checks.agent}: Ctrl-C to the end of the tree {took:.2f} s", flush=True)
    checks.that("the step is recorded as stopped", outcomes(place) == [("say-hello", "propose", "blocker")],
                str(outcomes(place)))


def failing(place, checks, words):
    """A provider that refuses: the step is blocked, and says what a person needs to know."""
    report = place.step()
    checks.that("the step is blocked", report.get("state") == "blocked", str(report))
    told = f"{report.get('blocker')}\n{report.get('detail')}\n{report.get('notes')}"
    checks.that(f"what is told has {words!r}", re.search(words, told, re.IGNORECASE), told)
    checks.that("what is told is no raw event", '{"type"' not in told and '"type":' not in told, told[:1500])
    checks.nothing_runs(place, "after a failure")


def sandboxed(place, checks):
    """The sandbox of the default posture is on, and lets the agent report all the same."""
    report = place.step()
    said = (report.get("state"), report.get("blocker"))
    checks.that("the report comes through", said == ("blocked", "I may not write outside of the project"), str(report))
    checks.that("nothing was written outside", not (place.folder / "outside").exists())


def question(place, checks):
    """The agent asks, a person answers, the agent goes on with the answer."""
    report = place.step()
    asked = (report.get("state"), report.get("blocker"))
    checks.that("the question parks the step", asked == ("blocked", "which of the two greetings?"), str(report))
    place.ratchet("batch", "report", "greeter", "--change", "say-hello", "--answer", "use the second one")
    report = place.step()
    checks.that("the answer reaches the agent", report.get("state") == "advanced", str(report))


def mutants(place, checks):
    """The agent plants five known faults in copies; the weak suite misses exactly two of them."""
    known = FIXTURES.parent / "mutants" / "project"
    shutil.copytree(known, place.project, dirs_exist_ok=True)
    evals = place.project / ".ratchet" / "evals"
    evals.mkdir(parents=True)
    (evals / "invariants.yaml").write_text("invariants:\n  - {id: no-bugs, kind: mutation, active: true, "
                                           "test: sh tests/weak.sh, budget: 5, threshold: 3}\n")
    (evals / ".gitignore").write_text("runs/\n")
    place.git(place.project, "add", "--all")
    place.git(place.project, "commit", "--quiet", "--message", "Known answers")
    code, out, err = place.ratchet("eval", "mutate", "--jobs", "2", "--json")
    checks.that("eval mutate ends well", code == 0, err[-1000:])
    result = json.loads(out)["results"][0]
    attempts = result["outcomes"]["attempts"] if "outcomes" in result else []
    verdicts = [attempt["verdict"] for attempt in attempts]
    expected = ["killed", "survived", "killed", "survived", "killed"]
    checks.that("exactly the planted survivors survive", verdicts == expected, str(result["outcome"]))
    checks.that("the user's tree is clean", place.git(place.project, "status", "--porcelain") == "")
    checks.nothing_runs(place, "after planted faults")


CASES = {
    "whole-batch": ("batch.json", whole_batch),
    "live-view": ("batch.json", lambda place, _, checks: live_view(place, checks)),
    "worktree": ("batch.json", lambda place, _, checks: worktree(place, checks)),
    "interrupted": ("stuck.json", lambda place, _, checks: interrupted(place, checks)),
    "sandboxed": ("outside.json", lambda place, _, checks: sandboxed(place, checks)),
    "question": ("question.json", lambda place, _, checks: question(place, checks)),
    "key-refused": ("key-refused.json", lambda place, _, checks: failing(place, checks, "the key was refused")),
    "limit-reached": ("limit-reached.json", lambda place, _, checks: failing(place, checks, "a usage limit was reached")),
    "no-credit": ("no-credit.json", lambda place, _, checks: failing(place, checks, "credit balance")),
    "mutants": ("../mutants/model.json", lambda place, _, checks: mutants(place, checks)),
    "no-such-model": ("no-such-model.json", lambda place, _, checks: failing(place, checks, "the model is unknown|model: gemini")),
}


# These ask again for minutes, whatever the provider says; of those that have a sandbox of their own, only codex has it on.
LEFT_OUT = {("gemini", "limit-reached"), ("opencode", "limit-reached"),
            ("claude", "sandboxed"), ("gemini", "sandboxed"), ("opencode", "sandboxed")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kit", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--case", action="append", choices=CASES, help="only this case; may be repeated")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("agents", nargs="+", choices=AGENTS)
    options = parser.parse_args()
    options.kit, options.cache, options.bin = (path.resolve() for path in (options.kit, options.cache, options.bin))
    # Not below /tmp: some sandboxes let an agent write there, so it would prove less.
    scratch = Path(tempfile.mkdtemp(prefix="run-", dir=options.cache))
    broken, played = 0, 0
    for agent in options.agents:
        checks = Checks(agent)
        for name in options.case or CASES:
            if (agent, name) in LEFT_OUT:
                continue
            script, play = CASES[name]
            played += 1
            folder = scratch / f"{agent}-{name}"
            folder.mkdir()
            begun = time.monotonic()
            with Model(options.kit, script, folder) as model:
                place = Place(folder, agent, model, options, worktree=name == "worktree")
                try:
                    play(place, model, checks)
                except (RuntimeError, TimeoutError, subprocess.TimeoutExpired) as error:
                    checks.that(f"{name} comes to its end", False, str(error))
            print(f"  {agent}: {name}, {time.monotonic() - begun:.1f} s", flush=True)
        broken += checks.broken
        print(f"{agent}: {checks.held} checks hold, {checks.broken} are broken", flush=True)
    if not played:
        sys.exit("no case was played")
    if options.keep or broken:
        print(f"kept: {scratch}")
    else:
        shutil.rmtree(scratch)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
