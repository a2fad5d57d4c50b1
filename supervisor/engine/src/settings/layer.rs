//! What one file says: a map of settings, read key by key (spec `batch-manifest-and-settings` 4.1).

use secrecy::SecretString;

use super::{AgentChoice, AgentOverride, Key, Layer, WorkerEntry, docker};
use crate::name::AgentName;
use crate::permission::PermissionsLayer;
use crate::usage::Usd;
use crate::yaml::reader::{Issue, Reader, Trail};
use crate::yaml::{Member, Node, Value};

impl Layer {
    /// Reads the `settings` of a manifest. Any issue makes the manifest invalid.
    pub(crate) fn read_manifest(reader: &mut Reader, trail: &Trail<'_>, node: &Node) -> Self {
        let mut layer = Self::default();
        for member in reader.map(trail, node).unwrap_or_default() {
            let trail = Trail::Key(trail, &member.key);
            match Key::parse(&member.key) {
                Some(key) if !key.is_project_only() => {
                    layer.read(reader, key, &trail, &member.node)
                }
                Some(_) => {
                    let message = "belongs into .ratchet/config.yaml, under batch; a manifest cannot carry it";
                    reader.refuse(&trail, &member.node, message);
                }
                None => reader.unknown(&trail, member, &known_in_manifest()),
            }
        }
        layer
    }

    /// Reads the `batch` map of the project's configuration. Each issue is a warning about one key, which is then left
    /// out; unknown keys are passed over.
    #[must_use]
    pub fn from_project(node: &Node) -> (Self, Vec<Issue>) {
        let (mut layer, mut reader) = (Self::default(), Reader::default());
        let trail = Trail::Key(&Trail::Root, "batch");
        if node.value == Value::Null {
            return (layer, reader.issues);
        }
        for member in reader.map(&trail, node).unwrap_or_default() {
            if let Some(key) = Key::parse(&member.key) {
                layer.read(&mut reader, key, &Trail::Key(&trail, &member.key), &member.node);
            }
        }
        (layer, reader.issues)
    }

    fn read(&mut self, reader: &mut Reader, key: Key, trail: &Trail<'_>, node: &Node) {
        let text = |reader: &mut Reader| reader.text(trail, node).map(str::to_owned);
        match key {
            Key::Gate => self.gate = reader.word(trail, node),
            Key::Strategy => self.strategy = reader.word(trail, node),
            Key::ProofOfWork => self.proof_policy = reader.word(trail, node),
            Key::Locus => self.locus = reader.word(trail, node),
            Key::PrGrouping => self.pr_grouping = reader.word(trail, node),
            Key::Agent => self.agent = AgentChoice::read(reader, trail, node),
            Key::Image => self.image = text(reader),
            Key::DockerUser => {
                self.docker_user =
                    formed(reader, trail, node, docker::parse_user, docker::USER_FORM);
            }
            Key::DockerMemory => {
                self.docker_memory =
                    formed(reader, trail, node, docker::parse_memory, docker::MEMORY_FORM);
            }
            Key::DockerPidsLimit => self.docker_pids_limit = reader.positive_integer(trail, node),
            Key::DockerCpus => self.docker_cpus = reader.positive_number(trail, node),
            Key::Network => self.network = text(reader),
            Key::DockerReadOnly => self.docker_read_only = reader.boolean(trail, node),
            Key::DockerPull => self.docker_pull = reader.word(trail, node),
            Key::DockerAgentSandbox => self.docker_agent_sandbox = reader.word(trail, node),
            Key::Host => self.host = text(reader),
            Key::Port => self.port = reader.number(trail, node),
            Key::AuthToken => {
                self.auth_token = reader.secret_text(trail, node).map(SecretString::from);
            }
            Key::AuthTokenFile => self.auth_token_file = text(reader),
            Key::TlsCa => self.tls_ca = text(reader),
            Key::Insecure => self.insecure = reader.boolean(trail, node),
            Key::Workers => self.workers = WorkerEntry::read_all(reader, trail, node),
            Key::WorkerLostMs => self.worker_lost_ms = reader.positive_integer(trail, node),
            Key::ProofLocus => self.proof_locus = reader.word(trail, node),
            Key::AgentTimeoutMs => self.agent_timeout_ms = reader.positive_integer(trail, node),
            Key::AgentStartTimeoutMs => {
                self.agent_start_timeout_ms = reader.positive_integer(trail, node);
            }
            Key::AgentIdleTimeoutMs => {
                self.agent_idle_timeout_ms = reader.positive_integer(trail, node);
            }
            Key::AgentOutputLimitBytes => {
                self.agent_output_limit_bytes = reader.positive_integer(trail, node);
            }
            Key::ProofTimeoutMs => self.proof_timeout_ms = reader.positive_integer(trail, node),
            Key::BudgetUsd => {
                self.budget_usd = reader.positive_number(trail, node).and_then(Usd::from_dollars);
            }
            Key::BudgetTokens => self.budget_tokens = reader.positive_integer(trail, node),
            Key::Permissions => self.permissions = PermissionsLayer::read(reader, trail, node),
            Key::Agents => {
                self.agents = reader.named(trail, node, read_override).unwrap_or_default();
            }
            Key::RequireOverrideFlag => self.require_override_flag = reader.boolean(trail, node),
        }
    }
}

/// Reads a text of a certain form.
fn formed<T>(
    reader: &mut Reader,
    trail: &Trail<'_>,
    node: &Node,
    parse: impl Fn(&str) -> Option<T>,
    form: &str,
) -> Option<String> {
    let text = reader.text(trail, node)?;
    if parse(text).is_none() {
        reader.refuse(trail, node, form);
        return None;
    }
    Some(text.to_owned())
}

fn known_in_manifest() -> String {
    let keys: Vec<&str> =
        Key::ALL.into_iter().filter(|key| !key.is_project_only()).map(Key::as_str).collect();
    keys.join(", ")
}

fn read_override(
    reader: &mut Reader,
    trail: &Trail<'_>,
    member: &Member,
) -> Option<(AgentName, AgentOverride)> {
    let mut entry = AgentOverride::default();
    for member in reader.map(trail, &member.node)? {
        let (node, trail) = (&member.node, Trail::Key(trail, &member.key));
        match member.key.as_str() {
            "command" => entry.command = reader.filled_text(&trail, node).map(str::to_owned),
            "args" => entry.args = reader.secret_texts(&trail, node),
            "env" => entry.env = reader.named(&trail, node, read_variable).unwrap_or_default(),
            _ => reader.unknown(&trail, member, "command, args, env"),
        }
    }
    Some((AgentName::new(&member.key), entry))
}

fn read_variable(
    reader: &mut Reader,
    trail: &Trail<'_>,
    member: &Member,
) -> Option<(String, String)> {
    if member.key.is_empty() || member.key.contains(['=', '\0']) {
        reader.refuse(trail, &member.node, "no name of an environment variable");
        return None;
    }
    let value = reader.secret_text(trail, &member.node)?;
    Some((member.key.clone(), value.to_owned()))
}
