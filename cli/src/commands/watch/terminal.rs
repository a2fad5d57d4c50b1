//! The terminal while the dashboard has it: taken whole, and given back as it was, however the process ends.
//!
//! A signal and a failure give it back by dropping [`Screen`], a panic by the hook that is set here, so that its message is
//! not lost with the screen. `kill -9` is the one end that nobody can do anything about: `reset` helps then.

use std::io::{self, IsTerminal as _, Stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratchet_supervisor::environment::Environment;

use crate::watch::board::Board;
use crate::watch::frame;
use crate::watch::pager::Room;

/// Whether the terminal is ours. Giving it back twice would clear what came after.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Tells whether there is a terminal to draw on, and somebody who types.
pub(super) fn is_there(environment: &Environment) -> bool {
    io::stdin().is_terminal()
        && io::stdout().is_terminal()
        && environment.var("TERM") != Some("dumb")
}

/// The whole terminal.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn take() -> io::Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        TAKEN.store(true, Ordering::SeqCst);
        let taken = enable_raw_mode()
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste))
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match taken {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Tells how large it is.
    pub(super) fn room(&self) -> io::Result<Room> {
        let size = self.terminal.size()?;
        Ok(Room { width: size.width.into(), height: size.height.into() })
    }

    /// Shows the state; only what has changed is written.
    pub(super) fn show(&mut self, board: &Board) -> io::Result<()> {
        self.terminal.draw(|picture| frame::draw(picture, board)).map(drop)
    }

    /// Has everything written anew, because something else has written there.
    pub(super) fn wipe(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back. A terminal that is gone takes nothing back, and nobody is left to be told.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _gone = disable_raw_mode();
        let show = crossterm::cursor::Show;
        let _gone = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, show);
    }
}
