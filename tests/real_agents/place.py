"""Scratch places: a project, a home, the settings of one real agent, and the scripted model that it asks."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "real-agents"
PATIENCE = 600.0


def until(what, found, patience=PATIENCE):
    """Waits for a state; gives what `found` gives."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        answer = found()
        if answer:
            return answer
        time.sleep(0.02)
    raise TimeoutError(f"{what}: not within {patience:.0f} s")


class Model:
    """The scripted model, for as long as a `with` block lasts."""

    def __init__(self, kit, script, folder):
        self.command = [sys.executable, str(kit / "scripted_model.py"), "--script", str(FIXTURES / script),
                        "--port-file", str(folder / "port"), "--log", str(folder / "asked.jsonl")]
        self.port_file = folder / "port"
        self.log = folder / "asked.jsonl"

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        until("the scripted model listens", self.port_file.exists, 20)
        self.address = f"http://127.0.0.1:{self.port_file.read_text().strip()}"
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.port_file.unlink()

    def asked(self):
        """Every request so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


def claude(model, home):
    del home
    return "claude", {
        "ANTHROPIC_BASE_URL": model.address, "ANTHROPIC_API_KEY": "test", "CLAUDE_CODE_MAX_RETRIES": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1"}


def codex(model, home):
    """Its endpoint stands in its own settings, so that every argument is ratchet's."""
    folder = home / "codex"
    folder.mkdir()
    (folder / "config.toml").write_text(f"""\
model_provider = "scripted"
check_for_update_on_startup = false
analytics.enabled = false
features.plugins = false

[model_providers.scripted]
name = "scripted"
base_url = "{model.address}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
stream_max_retries = 0
request_max_retries = 0
""")
    return "codex", {"CODEX_HOME": str(folder), "SCRIPTED_KEY": "test"}


def gemini(model, home):
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps({
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False}}))
    return "gemini:gemini-2.5-pro", {"GOOGLE_GEMINI_BASE_URL": model.address, "GEMINI_API_KEY": "test"}


def opencode(model, home):
    del home
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": {"scripted": {"name": "scripted"}},
                "options": {"baseURL": f"{model.address}/v1", "apiKey": "test"}}
    return "opencode:scripted/scripted", {
        "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_CONFIG_CONTENT": json.dumps(
            {"autoupdate": False, "share": "disabled", "provider": {"scripted": provider}})}


AGENTS = {"claude": claude, "codex": codex, "gemini": gemini, "opencode": opencode}


class Place:
    """One case's project and home."""

    def __init__(self, folder, agent, model, options, worktree=False):
        self.folder, self.agent = folder, agent
        self.home, self.project = folder / "home", folder / "project"
        self.mark = f"RATCHET_REAL_AGENTS={folder}"
        self.home.mkdir()
        self.env = {
            "PATH": os.pathsep.join([str(options.bin), str(options.cache / "bin"), os.defpath, "/usr/local/bin"]),
            "HOME": str(self.home), "LANG": "C.UTF-8", "TERM": "dumb", "RATCHET_REAL_AGENTS": str(folder)}
        main = folder / "main" if worktree else self.project
        shutil.copytree(FIXTURES / "project", main)
        self.git(main, "init", "--quiet", "--initial-branch=main")
        self.git(main, "config", "user.name", "Real Agents")
        self.git(main, "config", "user.email", "agents@example.invalid")
        spec, variables = AGENTS[agent](model, self.home)
        settings = {"batch": {"agent": spec, "agents": {agent: {"env": variables}}}}
        # A JSON document is a YAML document.
        (main / ".ratchet" / "config.yaml").write_text(json.dumps(settings, indent=2) + "\n")
        self.git(main, "add", "--all")
        self.git(main, "commit", "--quiet", "--message", "The project as it was")
        if worktree:
            self.git(main, "worktree", "add", "--quiet", "-b", "work", str(self.project))

    def git(self, where, *arguments):
        return subprocess.run(["git", *arguments], cwd=where, env=self.env, check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def ratchet(self, *arguments):
        """Runs ratchet; gives its exit code, its standard output and its standard error."""
        done = subprocess.run(["ratchet", *arguments], cwd=self.project, env=self.env, text=True, timeout=PATIENCE,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(self.folder / "screen.txt", "a", encoding="utf-8") as screen:
            screen.write(f"$ ratchet {' '.join(arguments)}\n{done.stdout}{done.stderr}[exit {done.returncode}]\n\n")
        return done.returncode, done.stdout, done.stderr

    def step(self):
        """Runs one step; gives its report."""
        code, out, err = self.ratchet("batch", "apply", "greeter", "--json")
        if code != 0:
            raise RuntimeError(f"batch apply ended with {code}: {err[-2000:]}")
        return json.loads(out)

    def status(self):
        return json.loads(self.ratchet("batch", "status", "greeter", "--json")[1])

    def journal(self):
        path = self.project / ".ratchet" / "batches" / "greeter" / "run" / "journal.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def strays(self):
        """What still runs of this case: every process that ratchet starts inherits the mark."""
        mark, found = self.mark.encode(), []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found.append(f"{entry.name} {command[:80]}")
            except OSError:
                pass  # It has ended meanwhile, or is somebody else's.
        return found
