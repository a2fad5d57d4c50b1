//! Starts programs to ask them one short question, all at once, and waits for none of them for long.
//!
//! They are no agents at work: no shim, no record. Their process groups are ended when they take too long.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::environment::Environment;

/// What a program that only has to say its version may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A program and what it is called with.
pub(super) struct Question<'a> {
    pub(super) program: &'a Path,
    pub(super) arguments: &'a [&'a str],
}

/// What it said.
pub(super) struct Answer {
    pub(super) code: Option<i32>,
    pub(super) text: String,
}

struct Running {
    child: Child,
    ended: OwnedFd,
}

/// Asks all of them.
pub(super) fn ask(
    questions: &[Question<'_>],
    environment: &Environment,
    cwd: &Path,
) -> Vec<io::Result<Answer>> {
    let deadline = Instant::now() + PATIENCE;
    let started: Vec<io::Result<Running>> =
        questions.iter().map(|question| start(question, environment, cwd)).collect();
    started.into_iter().map(|running| running?.answer(deadline)).collect()
}

fn start(question: &Question<'_>, environment: &Environment, cwd: &Path) -> io::Result<Running> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a question that is cut short after a moment; it needs no record"
    )]
    let mut command = Command::new(question.program);
    command.args(question.arguments).current_dir(cwd).env_clear().envs(environment.vars());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn()?;
    match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
        Ok(ended) => Ok(Running { child, ended }),
        Err(error) => {
            end(&mut child);
            Err(error.into())
        }
    }
}

impl Running {
    fn answer(mut self, deadline: Instant) -> io::Result<Answer> {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let ended = poll(&mut [PollFd::new(&self.ended, PollFlags::IN)], Some(&left));
        if !matches!(ended, Ok(1..)) {
            end(&mut self.child);
            return Err(io::ErrorKind::TimedOut.into());
        }
        let code = self.child.wait()?.code();
        let mut text = Vec::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            // What it has left behind may hold the pipe open; only what is there is read.
            rustix::io::ioctl_fionbio(&stdout, true)?;
            let mut block = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut block) {
                text.extend_from_slice(&block[..count]);
            }
        }
        Ok(Answer { code, text: String::from_utf8_lossy(&text).into_owned() })
    }
}

fn end(child: &mut Child) {
    let _gone = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _reaped = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        Environment::new("/", [("PATH", "/usr/bin:/bin")])
    }

    // C-M21
    #[test]
    fn each_answers_for_itself_and_what_cannot_be_started_is_an_error() {
        let shell = Path::new("/bin/sh");
        let questions = [
            Question { program: shell, arguments: &["-c", "echo 1.2; sleep 100 & exit 3"] },
            Question { program: Path::new("/nowhere/agent"), arguments: &[] },
            Question { program: shell, arguments: &["-c", "kill -9 $$"] },
        ];
        let answers = ask(&questions, &environment(), Path::new("/"));
        let first = answers[0].as_ref().unwrap();
        assert_eq!((first.code, first.text.as_str()), (Some(3), "1.2\n"));
        assert!(answers[1].is_err());
        assert_eq!(answers[2].as_ref().unwrap().code, None);
    }

    #[test]
    fn nobody_is_waited_for_longer_than_it_takes_to_say_a_version() {
        let question =
            Question { program: Path::new("/bin/sh"), arguments: &["-c", "cat; sleep 60"] };
        let running = start(&question, &environment(), Path::new("/")).unwrap();
        let answer = running.answer(Instant::now());
        assert_eq!(answer.err().map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
    }
}
