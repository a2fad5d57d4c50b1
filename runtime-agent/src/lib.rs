//! The worker.

/// Runs the program with the arguments of this process.
#[must_use]
pub fn run() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
