"""Has a command, a supervisor and an agent do one step, and reads its trace back from Arize Phoenix.

Everything lives in one temporary folder and on loopback, except Phoenix's gRPC port, which it opens everywhere.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

MANIFEST = """\
name: shop
phases:
  - name: cart
    goal: a cart that stays
    success: it stays
    proofOfWork: {kind: integration, run: "true", pass: "exit code 0"}
    changes:
      - {name: keep-cart, done: the cart is kept}
"""

# What the step is done by. It leaves the context that it was given, as an agent that traces itself would take it up.
AGENT = """\
cat > /dev/null
printf %s "$TRACEPARENT" > traceparent
mkdir -p .ratchet/changes/keep-cart
printf '# keep-cart\\n\\n## Tasks\\n- [ ] one\\n' > .ratchet/changes/keep-cart/plan.md
ratchet batch report shop --change keep-cart --complete planned
"""

# Each span with the one it stands below.
WANTED = {
    "ratchet ask": None,
    "ratchet serve": "ratchet ask",
    "ratchet step propose": "ratchet serve",
    "ratchet lock.acquire": "ratchet step propose",
    "ratchet select": "ratchet step propose",
    "ratchet preflight": "ratchet step propose",
    "ratchet intend": "ratchet step propose",
    "ratchet runtime.dispatch": "ratchet step propose",
    "invoke_agent stand-in": "ratchet runtime.dispatch",
    "ratchet outcome.map": "ratchet step propose",
    "ratchet journal.append": "ratchet step propose",
}

PATIENCE = 120


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def until(what, look):
    """Looks again until there is something to see. Phoenix tells nobody when it has taken something in."""
    deadline = time.monotonic() + PATIENCE
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise SystemExit(f"never saw {what}")
        time.sleep(0.2)


class Phoenix:
    def __init__(self, program, folder):
        self.port, self.grpc = free_port(), free_port()
        environment = dict(
            os.environ,
            PHOENIX_HOST="127.0.0.1",
            PHOENIX_PORT=str(self.port),
            PHOENIX_GRPC_PORT=str(self.grpc),
            PHOENIX_WORKING_DIR=str(folder),
            PHOENIX_TELEMETRY_ENABLED="false",
            PHOENIX_ALLOW_EXTERNAL_RESOURCES="false",
        )
        self.log = open(folder / "phoenix.log", "wb")
        self.process = subprocess.Popen(
            [program, "serve"], env=environment, stdout=self.log, stderr=subprocess.STDOUT
        )

    def ready(self):
        def healthy():
            if self.process.poll() is not None:
                raise SystemExit("Phoenix ended: " + pathlib.Path(self.log.name).read_text()[-2000:])
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz").status == 200

        until("Phoenix", healthy)
        return self

    def ask(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as answer:
            return json.load(answer)

    def spans(self):
        try:
            return self.ask("/v1/projects/default/spans?limit=200")["data"]
        except urllib.error.HTTPError as error:
            # Its project is there with its first span.
            if error.code == 404:
                return []
            raise

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def world(folder, ratchet, phoenix):
    """Makes a project and the environment of its commands."""
    project, programs = folder / "project", folder / "bin"
    (project / ".ratchet/batches/shop").mkdir(parents=True)
    (project / ".ratchet/batches/shop/batch.yaml").write_text(MANIFEST)
    programs.mkdir()
    shutil.copy(ratchet, programs / "ratchet")
    (folder / "agent.sh").write_text(AGENT)
    for name in ["home", "run"]:
        (folder / name).mkdir(mode=0o700)
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "RATCHET_BATCH_AGENT_CMD": f"sh {folder / 'agent.sh'}",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{phoenix.grpc}",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc",
    }
    return project, environment


def one_step(project, environment, socket_file):
    ratchet = lambda *words: ["ratchet", *words]
    run = lambda *words: subprocess.run(
        ratchet(*words), cwd=project, env=environment, check=True, capture_output=True, text=True
    ).stdout
    supervisor = subprocess.Popen(
        ratchet("supervisor", "run"), env=environment, cwd="/", stderr=subprocess.DEVNULL
    )
    try:
        until("the supervisor", socket_file.exists)
        return json.loads(run("batch", "apply", "--json"))
    finally:
        run("supervisor", "stop")
        supervisor.wait()


def check(spans, step, traceparent):
    by_id = {span["context"]["span_id"]: span for span in spans}
    found = {}
    for span in spans:
        assert span["name"] not in found, f"{span['name']} came twice"
        found[span["name"]] = span
    missing = WANTED.keys() ^ found.keys()
    assert not missing, f"missing, or not asked for: {missing}"
    for name, parent in WANTED.items():
        above = by_id.get(found[name]["parent_id"])
        assert (above and above["name"]) == parent, f"{name} is below {above and above['name']}"
    assert len({span["context"]["trace_id"] for span in spans}) == 1, "more than one trace"
    top = found["ratchet step propose"]
    told = json.dumps(top["attributes"])
    assert step["spawnId"] in told, "the spawn's id is not in the span"
    _, trace, span, _ = traceparent.split("-")
    assert (trace, span) == (top["context"]["trace_id"], top["context"]["span_id"]), "the agent's"
    return trace


def picture(phoenix, trace, spans, file):
    """Takes a picture of the trace as Phoenix shows it, with the span that says why the step came out as it did."""
    why = next(span["id"] for span in spans if span["name"] == "ratchet outcome.map")
    project = phoenix.ask("/v1/projects")["data"][0]["id"]
    subprocess.run(
        [
            "chromium",
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1180,660",
            "--virtual-time-budget=20000",
            f"--screenshot={file.resolve()}",
            f"http://127.0.0.1:{phoenix.port}/projects/{project}/traces/{trace}?selectedSpanNodeId={why}",
        ],
        check=True,
        capture_output=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--phoenix", required=True)
    parser.add_argument("--ratchet", required=True, type=pathlib.Path)
    parser.add_argument("--picture", type=pathlib.Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ratchet-backend-") as name:
        folder = pathlib.Path(name)
        phoenix = Phoenix(asked.phoenix, folder).ready()
        try:
            project, environment = world(folder, asked.ratchet, phoenix)
            step = one_step(project, environment, folder / "run/ratchet/supervisor.sock")
            assert step["state"] == "advanced", step
            enough = lambda: len(phoenix.spans()) >= len(WANTED) and phoenix.spans()
            spans = until("every span", enough)
            trace = check(spans, step, (project / "traceparent").read_text())
            if asked.picture:
                picture(phoenix, trace, spans, asked.picture)
        finally:
            phoenix.end()
    print(f"one trace of {len(spans)} spans from two processes, read back: {trace}")


if __name__ == "__main__":
    main()
