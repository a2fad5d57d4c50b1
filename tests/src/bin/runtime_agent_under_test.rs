//! The `runtime-agent` that is tested: the same program, built again here so that Cargo tells the tests where it is. It also
//! answers the hidden `shim` command, as the real one does.

use std::process::ExitCode;

fn main() -> ExitCode {
    ratchet_runtime_agent::run()
}
