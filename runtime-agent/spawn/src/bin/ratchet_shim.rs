//! The shim alone, for containers and tests: `ratchet-shim <folder>`. `ratchet shim <folder>` is the same code.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args_os().nth(1).map(PathBuf::from) {
        Some(dir) => ratchet_spawn::shim::run(&dir),
        None => ExitCode::from(64),
    }
}
