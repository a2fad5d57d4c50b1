//! The binary. Everything it does is in the library, so that the tests can build a copy of it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ratchet_runtime_agent::run()
}
