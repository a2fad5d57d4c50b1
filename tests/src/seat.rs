//! A person at a terminal: a command with a real pseudo-terminal as its controlling one, and a screen on which what it
//! writes is seen as a person would see it.

use std::fmt;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::{TestEnv, wait};

const WORLD: &str = "a test's own world holds";

/// A command at a terminal.
pub struct Seat {
    keyboard: File,
    output: Receiver<Vec<u8>>,
    seen: String,
    screen: vt100::Parser,
    before: Termios,
    child: Child,
}

/// What was there when the command had ended.
pub struct Left {
    /// How it ended.
    pub status: ExitStatus,
    /// All that was written since the last key.
    pub seen: String,
    /// The screen.
    pub screen: vt100::Parser,
    /// Whether lines are edited and echoed again as before.
    pub is_restored: bool,
}

impl Seat {
    /// Sits down at a terminal of 80 columns and 24 lines.
    pub fn take(env: &TestEnv, arguments: &[&str]) -> Self {
        Self::take_of(env, arguments, &[])
    }

    /// As [`Seat::take`], with more variables.
    pub fn take_of(env: &TestEnv, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect(WORLD);
        grantpt(&control).expect(WORLD);
        unlockpt(&control).expect(WORLD);
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&control, size).expect(WORLD);
        let before = tcgetattr(&control).expect(WORLD);
        let name = ptsname(&control, Vec::new()).expect(WORLD);
        let line = || {
            let path = name.to_str().expect(WORLD);
            Stdio::from(File::options().read(true).write(true).open(path).expect(WORLD))
        };
        // It takes the terminal as its own, so that the kernel tells it of a new size, and becomes the command.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(env.base().join("bin/ratchet")).args(arguments);
        command.current_dir(env.root()).env_clear().envs(env.variables());
        command.env_remove("CI").env("TERM", "xterm").envs(variables.iter().copied());
        let child = command.stdin(line()).stdout(line()).stderr(line()).spawn().expect(WORLD);
        drop(command);
        let keyboard = File::from(control);
        let mut reader = keyboard.try_clone().expect(WORLD);
        let (put, output) = channel();
        std::thread::spawn(move || {
            let mut block = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut block) {
                if put.send(block[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = vt100::Parser::new(24, 80, 0);
        Self { keyboard, output, seen: String::new(), screen, before, child }
    }

    /// Waits until a text has been written, then types.
    #[track_caller]
    pub fn sees_then_types(&mut self, text: &str, keys: &str) {
        wait::until(&format!("'{text}' to be written"), || {
            self.look();
            self.seen.contains(text)
        });
        // What comes next must be new.
        self.seen.clear();
        self.types(keys);
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub fn shows(&mut self, text: &str) {
        self.shows_that(&format!("'{text}'"), |screen| screen.contains(text));
    }

    /// Waits until the screen is as it should be.
    #[track_caller]
    pub fn shows_that(&mut self, state: &str, holds: impl Fn(&str) -> bool) {
        let shown = wait::within(wait::DEADLINE, || {
            self.look();
            holds(&self.screen.screen().contents())
        });
        assert!(shown, "{state} never came to the screen:\n{}", self.screen.screen().contents());
    }

    /// Says whether anything on the screen is in a colour, bold or dim.
    pub fn is_coloured(&self) -> bool {
        let screen = self.screen.screen();
        let (rows, columns) = screen.size();
        let mut cells = (0..rows)
            .flat_map(|row| (0..columns).filter_map(move |column| screen.cell(row, column)));
        cells.any(|cell| {
            let plain = vt100::Color::Default;
            cell.fgcolor() != plain || cell.bgcolor() != plain || cell.bold() || cell.dim()
        })
    }

    /// Types.
    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect(WORLD);
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        self.screen.screen_mut().set_size(rows, columns);
        tcsetwinsize(&self.keyboard, size).expect(WORLD);
    }

    /// Signals the command.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect(WORLD);
    }

    /// Waits for the end and gives the exit code and what was written last.
    #[track_caller]
    pub fn ends(self) -> (Option<i32>, String) {
        let left = self.leaves();
        (left.status.code(), left.seen)
    }

    /// Waits for the end and gives what is there then.
    #[track_caller]
    pub fn leaves(mut self) -> Left {
        let mut ended = None;
        wait::until("the command to end", || {
            self.look();
            ended = self.child.try_wait().expect(WORLD);
            ended.is_some()
        });
        let is_restored = {
            let (now, before) = (tcgetattr(&self.keyboard).expect(WORLD), &self.before);
            now.local_modes == before.local_modes && now.input_modes == before.input_modes
        };
        // What it wrote last may still be on its way; with its last writer gone the terminal ends.
        loop {
            match self.output.recv_timeout(wait::DEADLINE) {
                Ok(bytes) => self.take_in(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("somebody still holds the terminal"),
            }
        }
        Left {
            status: ended.expect("it has ended"),
            seen: std::mem::take(&mut self.seen),
            screen: std::mem::replace(&mut self.screen, vt100::Parser::new(1, 1, 0)),
            is_restored,
        }
    }

    fn look(&mut self) {
        while let Ok(bytes) = self.output.try_recv() {
            self.take_in(&bytes);
        }
    }

    fn take_in(&mut self, bytes: &[u8]) {
        self.seen.push_str(&String::from_utf8_lossy(bytes));
        self.screen.process(bytes);
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.screen.screen().contents();
        f.debug_struct("Seat").field("shown", &shown).finish_non_exhaustive()
    }
}

impl fmt::Debug for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Left").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
