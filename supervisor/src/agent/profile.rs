//! The table of agents: what each program is called, what it is given, and what it reads and prints.
//!
//! Versions move from week to week, and an unknown flag ends every one of them. A row is changed here, and by a user
//! with `batch.agents`. Permission flags are the other half of the table, in [`super::permission`].

use super::Agent;
use super::stream::StreamFormat;

/// One row of the table of agents.
pub(super) struct Profile {
    /// The id in settings.
    pub(super) id: &'static str,
    /// Names of the program, the best first.
    pub(super) binaries: &'static [&'static str],
    /// The arguments of every call. The prompt goes to standard input.
    pub(super) base: &'static [&'static str],
    /// The flag before a model's name.
    pub(super) model_flag: &'static str,
    /// Variables it reads; a name that ends in `*` is a prefix.
    pub(super) variables: &'static [&'static str],
    /// Variables it needs to behave.
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// What it prints.
    pub(super) format: StreamFormat,
}

impl Agent {
    /// Returns the agent's row.
    pub(super) fn profile(self) -> &'static Profile {
        match self {
            Self::Claude => &CLAUDE,
            Self::Codex => &CODEX,
            Self::Gemini => &GEMINI,
            Self::Cursor => &CURSOR,
            Self::Opencode => &OPENCODE,
        }
    }
}

const CLAUDE: Profile = Profile {
    id: "claude",
    binaries: &["claude"],
    base: &["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"],
    model_flag: "--model",
    variables: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_*",
        "CLAUDE_CONFIG_DIR",
        "IS_SANDBOX",
    ],
    settings: &[],
    format: StreamFormat::Claude,
};

// `exec` never asks, and takes no `--ask-for-approval`. A login shell would reset PATH, and without the second setting
// it tries for ever when there is no network.
const CODEX: Profile = Profile {
    id: "codex",
    binaries: &["codex"],
    base: &[
        "exec",
        "-",
        "--json",
        "-c",
        "allow_login_shell=false",
        "-c",
        "features.unbounded_connection_retries=false",
    ],
    model_flag: "-m",
    variables: &["OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME"],
    settings: &[],
    format: StreamFormat::Codex,
};

// It takes no bare `-p`, and ends in a folder it does not trust. Its launcher restarts itself as a child that ignores
// signals, unless told not to.
const GEMINI: Profile = Profile {
    id: "gemini",
    binaries: &["gemini"],
    base: &["--output-format", "stream-json", "--skip-trust"],
    model_flag: "-m",
    variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"],
    settings: &[("GEMINI_CLI_NO_RELAUNCH", "true")],
    format: StreamFormat::Gemini,
};

// The program is called `agent` now; the older name is still linked, and less likely to be somebody else's program.
const CURSOR: Profile = Profile {
    id: "cursor",
    binaries: &["cursor-agent", "agent"],
    base: &["-p", "--output-format", "stream-json", "--trust"],
    model_flag: "--model",
    variables: &["CURSOR_API_KEY", "CURSOR_*"],
    settings: &[],
    format: StreamFormat::Cursor,
};

const OPENCODE: Profile = Profile {
    id: "opencode",
    binaries: &["opencode"],
    base: &["run", "--format", "json"],
    model_flag: "--model",
    variables: &[
        "OPENCODE_*",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_CACHE_HOME",
    ],
    settings: &[],
    format: StreamFormat::Opencode,
};
