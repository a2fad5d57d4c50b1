//! The coding agents that may be installed on a worker, by the names of their programs. What they are for, it never learns.

use std::path::PathBuf;

use crate::environment::Environment;

/// Each by the name that settings have for it, and the programs that may be it.
const KNOWN: [(&str, &[&str]); 5] = [
    ("claude", &["claude"]),
    ("codex", &["codex"]),
    ("gemini", &["gemini"]),
    ("cursor", &["cursor-agent", "agent"]),
    ("opencode", &["opencode"]),
];

/// Finds those that are installed.
pub(crate) fn installed(environment: &Environment) -> Vec<(&'static str, PathBuf)> {
    let found = |(name, programs): (&'static str, &[&str])| {
        Some((name, programs.iter().find_map(|program| environment.find_program(program))?))
    };
    KNOWN.into_iter().filter_map(found).collect()
}
