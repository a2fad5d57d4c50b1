//! The agent of the sample project: a program that behaves like a coding agent's command line and can do three changes.
//!
//! It reads its prompt, works out which step is asked for, edits files with `git apply`, ticks tasks one by one and
//! reports with the command that the prompt gives. Called with `stream-json` among its arguments it prints events like
//! Claude Code does, else plain text. What it knows is in `fixtures/sample/agent`.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, ensure};
use ratchet_tests::asked::{Asked, Kind};
use serde_json::{Value, json};

/// Names another folder of knowledge than the one this program was built beside.
const KNOWLEDGE_VAR: &str = "RATCHET_SAMPLE_KNOWLEDGE";

fn main() -> ExitCode {
    // How an image is tried before anything is spent.
    if std::env::args().nth(1).as_deref() == Some("--version") {
        let _stdout_may_be_closed = writeln!(io::stdout(), "{}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    let voice = if std::env::args().any(|word| word == "stream-json") {
        Voice::Events
    } else {
        Voice::Text
    };
    match work(voice) {
        Ok(summary) => {
            voice.end(&summary);
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _stderr_may_be_closed = writeln!(io::stderr(), "sample agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Does the step that the prompt asks for and reports it; the summary.
fn work(voice: Voice) -> Result<String> {
    let mut prompt = String::new();
    io::stdin().lock().read_to_string(&mut prompt).context("cannot read the prompt")?;
    let asked = Asked::read(&prompt).context("the prompt asks for nothing this agent knows")?;
    let change = Change::known(&asked.key, voice)?;
    let done = match asked.kind {
        Kind::Propose => change.propose(),
        Kind::Apply => change.apply(&asked),
        Kind::Verify => change.verify(),
        Kind::Decompose | Kind::Pr => {
            Err(anyhow::anyhow!("this agent cannot do the step {}", asked.kind))
        }
    };
    match done {
        Ok(summary) => {
            report(&asked, "--complete", &summary)?;
            Ok(summary)
        }
        Err(error) => {
            report(&asked, "--blocker", &format!("{error:#}"))?;
            Err(error)
        }
    }
}

/// A change that the agent knows how to make.
struct Change {
    name: String,
    knowledge: PathBuf,
    voice: Voice,
}

impl Change {
    fn known(name: &str, voice: Voice) -> Result<Self> {
        let root = std::env::var_os(KNOWLEDGE_VAR).map_or_else(
            || concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/sample/agent").into(),
            PathBuf::from,
        );
        let knowledge = root.join(name);
        ensure!(knowledge.is_dir(), "this agent has never heard of the change {name}");
        Ok(Self { name: name.to_owned(), knowledge, voice })
    }

    fn propose(&self) -> Result<String> {
        self.voice.say(&format!("I'll write the scenarios of {} and a plan.", self.name));
        let feature = format!("{}.feature", self.name);
        self.copy(&feature, &self.folder().join("features").join(&feature))?;
        self.copy("plan.md", &self.plan())?;
        Ok(format!("planned {} tasks", open_tasks(&fs::read_to_string(self.plan())?)))
    }

    fn apply(&self, asked: &Asked) -> Result<String> {
        let mut done = 0;
        while let Some(task) = first_open_task(&fs::read_to_string(self.plan())?) {
            let patch = self.knowledge.join(format!("{}.patch", self.next_patch()?));
            self.voice.tool("Edit", "file_path", &touched_by(&patch)?);
            run("git", &["apply", "--whitespace=nowarn", &patch.display().to_string()])?;
            let plan = fs::read_to_string(self.plan())?;
            fs::write(self.plan(), plan.replacen("- [ ]", "- [x]", 1))?;
            report(asked, "--status", &task)?;
            done += 1;
        }
        Ok(format!("did {done} tasks"))
    }

    fn verify(&self) -> Result<String> {
        self.voice.tool("Bash", "command", "sh tests/run.sh");
        let tests = run("sh", &["tests/run.sh"])?;
        self.voice.result(&tests);
        ensure!(open_tasks(&fs::read_to_string(self.plan())?) == 0, "the plan has open tasks");
        Ok("Every scenario has a test and every test holds. Ready for archive.".to_owned())
    }

    fn folder(&self) -> PathBuf {
        Path::new(".ratchet/changes").join(&self.name)
    }

    fn plan(&self) -> PathBuf {
        self.folder().join("plan.md")
    }

    /// Patches are numbered like the plan's tasks, and tasks are done in order.
    fn next_patch(&self) -> Result<usize> {
        Ok(fs::read_to_string(self.plan())?.matches("- [x]").count() + 1)
    }

    fn copy(&self, name: &str, to: &Path) -> Result<()> {
        self.voice.tool("Write", "file_path", &to.display().to_string());
        fs::create_dir_all(to.parent().context("a file has a folder")?)?;
        fs::copy(self.knowledge.join(name), to)
            .with_context(|| format!("cannot write {}", to.display()))?;
        Ok(())
    }
}

fn open_tasks(plan: &str) -> usize {
    plan.matches("- [ ]").count()
}

fn first_open_task(plan: &str) -> Option<String> {
    plan.lines().find_map(|line| line.strip_prefix("- [ ] ").map(str::to_owned))
}

/// The files that a patch names.
fn touched_by(patch: &Path) -> Result<String> {
    let text = fs::read_to_string(patch).with_context(|| format!("no {}", patch.display()))?;
    Ok(text.lines().filter_map(|line| line.strip_prefix("+++ b/")).collect::<Vec<_>>().join(", "))
}

fn report(asked: &Asked, flag: &str, text: &str) -> Result<()> {
    let words: Vec<&str> =
        asked.report[1..].iter().map(String::as_str).chain([flag, text]).collect();
    run(&asked.report[0], &words)?;
    Ok(())
}

/// Runs a program to its end; what it printed.
fn run(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {} failed: {}", arguments.join(" "), told.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// How the agent speaks.
#[derive(Clone, Copy)]
enum Voice {
    Text,
    Events,
}

impl Voice {
    fn say(self, text: &str) {
        self.put(text, || json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}));
    }

    fn tool(self, name: &str, input: &str, target: &str) {
        self.put(&format!("{name} {target}"), || {
            let call =
                json!({"type": "tool_use", "id": "t", "name": name, "input": {input: target}});
            json!({"type": "assistant", "message": {"content": [call]}})
        });
    }

    fn result(self, text: &str) {
        self.put(text.trim_end(), || {
            let result = json!({"type": "tool_result", "tool_use_id": "t", "content": text});
            json!({"type": "user", "message": {"content": [result]}})
        });
    }

    fn end(self, summary: &str) {
        self.put(summary, || {
            json!({"type": "result", "subtype": "success", "is_error": false, "result": summary,
                   "usage": {"input_tokens": 0, "output_tokens": 0}})
        });
    }

    fn put(self, text: &str, event: impl FnOnce() -> Value) {
        let line = match self {
            Self::Text => text.to_owned(),
            Self::Events => event().to_string(),
        };
        // The step counts by its report; a reader that has gone away is no reason to fail.
        let _reader_may_be_gone = writeln!(io::stdout(), "{line}");
    }
}
