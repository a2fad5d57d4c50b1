//! The names of the settings, each in one place.

/// One setting, as files spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(
    missing_docs,
    reason = "the spelling is the documentation; what each means stands at the fields of Layer"
)]
pub enum Key {
    Gate,
    Strategy,
    ProofOfWork,
    Locus,
    PrGrouping,
    Agent,
    Image,
    DockerUser,
    DockerMemory,
    DockerPidsLimit,
    DockerCpus,
    Network,
    DockerReadOnly,
    DockerPull,
    DockerAgentSandbox,
    Host,
    Port,
    AuthToken,
    AuthTokenFile,
    TlsCa,
    Insecure,
    Workers,
    WorkerLostMs,
    ProofLocus,
    AgentTimeoutMs,
    AgentStartTimeoutMs,
    AgentIdleTimeoutMs,
    AgentOutputLimitBytes,
    ProofTimeoutMs,
    BudgetUsd,
    BudgetTokens,
    Permissions,
    Agents,
    RequireOverrideFlag,
}

impl Key {
    /// Every setting, in the order in which people are told.
    pub const ALL: [Self; 34] = [
        Self::Gate,
        Self::Strategy,
        Self::ProofOfWork,
        Self::Locus,
        Self::PrGrouping,
        Self::Agent,
        Self::Image,
        Self::DockerUser,
        Self::DockerMemory,
        Self::DockerPidsLimit,
        Self::DockerCpus,
        Self::Network,
        Self::DockerReadOnly,
        Self::DockerPull,
        Self::DockerAgentSandbox,
        Self::Host,
        Self::Port,
        Self::AuthToken,
        Self::AuthTokenFile,
        Self::TlsCa,
        Self::Insecure,
        Self::Workers,
        Self::WorkerLostMs,
        Self::ProofLocus,
        Self::AgentTimeoutMs,
        Self::AgentStartTimeoutMs,
        Self::AgentIdleTimeoutMs,
        Self::AgentOutputLimitBytes,
        Self::ProofTimeoutMs,
        Self::BudgetUsd,
        Self::BudgetTokens,
        Self::Permissions,
        Self::Agents,
        Self::RequireOverrideFlag,
    ];

    /// Returns the spelling in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Strategy => "strategy",
            Self::ProofOfWork => "proofOfWork",
            Self::Locus => "locus",
            Self::PrGrouping => "prGrouping",
            Self::Agent => "agent",
            Self::Image => "image",
            Self::DockerUser => "dockerUser",
            Self::DockerMemory => "dockerMemory",
            Self::DockerPidsLimit => "dockerPidsLimit",
            Self::DockerCpus => "dockerCpus",
            Self::Network => "network",
            Self::DockerReadOnly => "dockerReadOnly",
            Self::DockerPull => "dockerPull",
            Self::DockerAgentSandbox => "dockerAgentSandbox",
            Self::Host => "host",
            Self::Port => "port",
            Self::AuthToken => "authToken",
            Self::AuthTokenFile => "authTokenFile",
            Self::TlsCa => "tlsCa",
            Self::Insecure => "insecure",
            Self::Workers => "workers",
            Self::WorkerLostMs => "workerLostMs",
            Self::ProofLocus => "proofLocus",
            Self::AgentTimeoutMs => "agentTimeoutMs",
            Self::AgentStartTimeoutMs => "agentStartTimeoutMs",
            Self::AgentIdleTimeoutMs => "agentIdleTimeoutMs",
            Self::AgentOutputLimitBytes => "agentOutputLimitBytes",
            Self::ProofTimeoutMs => "proofTimeoutMs",
            Self::BudgetUsd => "budgetUsd",
            Self::BudgetTokens => "budgetTokens",
            Self::Permissions => "permissions",
            Self::Agents => "agents",
            Self::RequireOverrideFlag => "requireOverrideFlag",
        }
    }

    /// Returns the setting of a spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.as_str() == text)
    }

    /// Says whether only the project's configuration may carry it. A manifest is written by agents too, when they
    /// decompose; it must not choose which binary runs, nor which files of this machine are shown to a worker, nor open a door that the
    /// project has shut.
    #[must_use]
    pub fn is_project_only(self) -> bool {
        matches!(
            self,
            Self::Agents
                | Self::RequireOverrideFlag
                | Self::DockerAgentSandbox
                | Self::AuthTokenFile
                | Self::TlsCa
                | Self::Workers
        )
    }

    /// Says whether `batch config --set` takes it. The others are maps, or not for everyday use.
    #[must_use]
    pub fn is_settable(self) -> bool {
        !matches!(
            self,
            Self::Permissions | Self::Agents | Self::RequireOverrideFlag | Self::Workers
        )
    }
}
