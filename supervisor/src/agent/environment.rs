//! Which variables an agent gets: those on the allow-list, those set for it, and ratchet's own marks.
//!
//! Pure: the host's variables come in, the agent's go out (spec `agents-and-runtimes` 3). A proof-of-work is not
//! filtered and does not come here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use ratchet_engine::name::{BatchName, SpawnId};
use ratchet_telemetry::TraceParent;
use ratchet_telemetry::carrier::{TRACEPARENT, TRACESTATE};

use super::Agent;

/// Variables by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// What ratchet tells every agent about the step it is in.
#[derive(Debug, Clone, Copy)]
pub struct Marks<'a> {
    /// The batch; absent for a standalone step.
    pub batch: Option<&'a BatchName>,
    /// The spawn; also how strays of this agent are found.
    pub spawn: &'a SpawnId,
    /// The `traceparent` of the step's span, if it is traced.
    pub trace_parent: Option<&'a str>,
    /// Its `tracestate`.
    pub trace_state: Option<&'a str>,
}

const BASICS: [&str; 20] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "TERM",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SYSTEMROOT",
    "COMSPEC",
    "PATHEXT",
    "USERPROFILE",
    "TEMP",
    "TMP",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
];
/// What the forge's own command line needs to open a pull request.
const FORGE: [&str; 2] = ["GH_TOKEN", "GITHUB_TOKEN"];
const PREFIXES: [&str; 2] = ["LC_", "RATCHET_"];
const OPERATOR_LIST: &str = "RATCHET_AGENT_ENV_ALLOW";
const BATCH: &str = "RATCHET_BATCH_NAME";

/// Works out an agent's environment. `own` (an invocation's variables) wins over the host's, ratchet's marks over
/// both. The operator's `RATCHET_AGENT_ENV_ALLOW` counts only as the host has it.
#[must_use]
pub fn for_agent(host: &Variables, own: &BTreeMap<String, String>, marks: &Marks<'_>) -> Variables {
    let mut variables = allowed(host);
    variables.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
    // A step inside of another step must not report to the outer one's batch.
    variables.remove(OsStr::new(BATCH));
    let mut mark = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            variables.insert(name.into(), value.into());
        }
    };
    mark(BATCH, marks.batch.map(BatchName::as_str));
    mark("RATCHET_SPAWN_ID", Some(marks.spawn.as_str()));
    mark(TRACEPARENT, marks.trace_parent);
    mark(TRACESTATE, marks.trace_state);
    variables
}

/// Writes a span's context as [`Marks`] have it.
#[must_use]
pub fn trace_marks(trace: Option<&TraceParent>) -> (Option<String>, Option<String>) {
    (trace.map(TraceParent::to_string), trace.and_then(TraceParent::state))
}

/// Marks an environment that is not filtered with a span's context. One that it has already is that of somebody above, and
/// stays if there is no span.
pub fn mark_trace(variables: &mut Variables, trace: Option<&TraceParent>) {
    let (Some(parent), state) = trace_marks(trace) else { return };
    variables.insert(TRACEPARENT.into(), parent.into());
    variables.remove(OsStr::new(TRACESTATE));
    variables.extend(state.map(|state| (TRACESTATE.into(), state.into())));
}

/// Gives what is on the allow-list.
#[must_use]
pub fn allowed(host: &Variables) -> Variables {
    let operator = operator_names(host);
    host.iter()
        .filter(|(name, _)| operator.contains(&name.as_os_str()) || is_listed(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn operator_names(host: &Variables) -> Vec<&OsStr> {
    let list = host.get(OsStr::new(OPERATOR_LIST)).and_then(|list| list.to_str()).unwrap_or("");
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(OsStr::new).collect()
}

/// A name that is not UTF-8 is on no list.
fn is_listed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        BASICS.contains(&name)
            || FORGE.contains(&name)
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || Agent::ALL.into_iter().flat_map(Agent::variables).any(|known| {
                known.strip_suffix('*').map_or(name == *known, |prefix| name.starts_with(prefix))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn passed(host: &[(&str, &str)]) -> Vec<String> {
        let spawn = SpawnId::parse("s1").unwrap();
        let marks = Marks { batch: None, spawn: &spawn, trace_parent: None, trace_state: None };
        let env = for_agent(&variables(host), &BTreeMap::new(), &marks);
        env.into_keys()
            .map(|name| name.into_string().unwrap())
            .filter(|name| name != "RATCHET_SPAWN_ID")
            .collect()
    }

    // B-P16
    #[test]
    fn a_planted_secret_is_dropped() {
        assert_eq!(
            passed(&[("AWS_SECRET_ACCESS_KEY", "x"), ("DATABASE_URL", "x"), ("PATH", "/bin")]),
            ["PATH"]
        );
        assert!(passed(&[("LC", "x"), ("MY_RATCHET_KEY", "x"), ("OPENAI_ORG", "x")]).is_empty());
    }

    // B-P17 B-P11
    #[test]
    fn path_and_batch_name_pass() {
        let batch = BatchName::parse("shop").unwrap();
        let spawn = SpawnId::parse("s1").unwrap();
        let marks = Marks {
            batch: Some(&batch),
            spawn: &spawn,
            trace_parent: Some("00-1-2-01"),
            trace_state: None,
        };
        let env = for_agent(&variables(&[("PATH", "/bin")]), &BTreeMap::new(), &marks);
        let expected = variables(&[
            ("PATH", "/bin"),
            ("RATCHET_BATCH_NAME", "shop"),
            ("RATCHET_SPAWN_ID", "s1"),
            ("TRACEPARENT", "00-1-2-01"),
        ]);
        assert_eq!(env, expected);
    }

    #[test]
    fn a_standalone_step_inherits_no_batch() {
        assert!(passed(&[("RATCHET_BATCH_NAME", "outer")]).is_empty());
    }

    // B-P18
    #[test]
    fn keys_of_every_agent_and_the_operators_names_pass() {
        let names = [
            "ANTHROPIC_API_KEY",
            "CLAUDE_CODE_MAX_RETRIES",
            "CODEX_HOME",
            "CURSOR_ANYTHING",
            "GEMINI_API_KEY",
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "GOOGLE_API_KEY",
            "LC_ALL",
            "MINE",
            "OPENAI_API_KEY",
            "OPENCODE_CONFIG",
            "RATCHET_AGENT_ENV_ALLOW",
            "RATCHET_X",
            "THINE",
        ];
        let mut host: Vec<(&str, &str)> = names.iter().map(|name| (*name, "v")).collect();
        host.iter_mut().find(|(name, _)| *name == OPERATOR_LIST).unwrap().1 =
            " MINE,, THINE ,ABSENT";
        assert_eq!(passed(&host), names);
    }

    #[test]
    fn an_agents_own_variables_win_and_cannot_widen_the_list() {
        let spawn = SpawnId::parse("s1").unwrap();
        let marks = Marks { batch: None, spawn: &spawn, trace_parent: None, trace_state: None };
        let own = BTreeMap::from([
            ("PATH".to_owned(), "/mine".to_owned()),
            (OPERATOR_LIST.to_owned(), "SECRET".to_owned()),
            ("RATCHET_SPAWN_ID".to_owned(), "other".to_owned()),
        ]);
        let host = variables(&[("PATH", "/bin"), ("SECRET", "x")]);
        let env = for_agent(&host, &own, &marks);
        assert_eq!(env[OsStr::new("PATH")], "/mine");
        assert_eq!(env[OsStr::new("RATCHET_SPAWN_ID")], "s1");
        assert!(!env.contains_key(OsStr::new("SECRET")));
    }
}
