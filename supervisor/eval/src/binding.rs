//! Bindings: how a case is judged, and on which sample of code (spec `eval` 3). What is wrong with a file of them is a
//! warning with its place, and the case counts as unbound; nothing else is lost.

use std::collections::BTreeMap;

use ratchet_engine::proof::classify;
use ratchet_engine::yaml::{self, Node};
use serde::{Deserialize, Serialize};

use crate::invariant::{DEFAULT_PASS, whole};
use crate::jury::{Jury, JurySettings, Quorum};

/// How a case is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The sample: a folder of `.ratchet/evals/fixtures`.
    pub fixture: String,
    /// What prepares it, once for all cases that share both.
    pub setup: Option<String>,
    /// Who judges.
    pub judge: Judge,
}

/// Who judges a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judge {
    /// A command.
    Deterministic {
        /// It.
        run: String,
        /// Its pass condition.
        pass: String,
    },
    /// Agents.
    LlmJudge {
        /// What success is.
        success: String,
        /// How many, and how they agree.
        jury: JurySettings,
        /// What they look at; empty: the scenario's own expectations.
        rubric: Vec<String>,
    },
    /// A browser.
    Web {
        /// What starts the application.
        start: String,
        /// When it is ready.
        readiness: Readiness,
        /// How long that may take, in milliseconds.
        timeout_ms: u64,
        /// The Playwright specification.
        spec: String,
    },
}

/// How an application says that it is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// This address answers.
    Url(String),
    /// This command exits with 0.
    Command(String),
}

/// The kinds of bindings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BindingKind {
    /// A command judges.
    Deterministic,
    /// Agents judge.
    LlmJudge,
    /// A browser judges.
    Web,
}

/// Every binding, and what was wrong with the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bindings {
    by_case: BTreeMap<String, Binding>,
    warnings: Vec<String>,
}

impl Binding {
    /// Returns its kind.
    #[must_use]
    pub fn kind(&self) -> BindingKind {
        match self.judge {
            Judge::Deterministic { .. } => BindingKind::Deterministic,
            Judge::LlmJudge { .. } => BindingKind::LlmJudge,
            Judge::Web { .. } => BindingKind::Web,
        }
    }
}

impl BindingKind {
    /// Returns the word in files and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Deterministic => "deterministic",
            Self::LlmJudge => "llm-judge",
            Self::Web => "web",
        }
    }
}

impl Bindings {
    /// Finds a case's binding.
    #[must_use]
    pub fn of(&self, case: &str) -> Option<&Binding> {
        self.by_case.get(case)
    }

    /// Returns what was wrong, in the order of the files.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Names the bindings whose case is not among `cases`.
    pub fn unused<'a>(&'a self, cases: &'a [String]) -> impl Iterator<Item = &'a str> {
        self.by_case.keys().map(String::as_str).filter(|id| !cases.iter().any(|case| case == id))
    }

    /// Adds a file. Files come in the order of their paths, and a later one wins.
    pub fn add(&mut self, name: &str, bytes: &[u8]) {
        let root = match yaml::parse_bytes(bytes) {
            Ok(root) => root,
            Err(error) => return self.warn(format!("{name}: {error}")),
        };
        if matches!(root.value, yaml::Value::Null) {
            return;
        }
        if root.as_map().is_none() {
            return self.warn(format!(
                "{name}: not a mapping of case ids to bindings, but {} ({})",
                root.kind(),
                place(&root)
            ));
        }
        let map = match root.get("bindings") {
            None => &root,
            Some(inner) if inner.as_map().is_some_and(|members| !members.is_empty()) => inner,
            Some(inner) => return self.warn(format!("{name}: no bindings ({})", place(inner))),
        };
        for member in map.as_map().unwrap_or_default() {
            match read(&member.node) {
                Ok(binding) => {
                    if self.by_case.insert(member.key.clone(), binding).is_some() {
                        self.warn(format!(
                            "Duplicate binding for '{}' in {name} (line {}); this one counts",
                            member.key, member.line
                        ));
                    }
                }
                Err(reasons) => {
                    self.warn(format!("{name}: '{}': {}", member.key, reasons.join("; ")));
                }
            }
        }
    }

    fn warn(&mut self, text: String) {
        self.warnings.push(text);
    }
}

fn place(node: &Node) -> String {
    format!("line {}, column {}", node.line, node.column)
}

/// Collects everything that is wrong with one binding.
#[derive(Default)]
struct Reader {
    reasons: Vec<String>,
}

fn read(node: &Node) -> Result<Binding, Vec<String>> {
    let mut reader = Reader::default();
    if node.as_map().is_none() {
        reader.refuse(node, format!("a binding is a map, got {}", node.kind()));
        return Err(reader.reasons);
    }
    let fixture = reader.text(node, "fixture", "fixture");
    let setup = match node.get("setup") {
        None => None,
        Some(setup) => match setup.as_text() {
            Some(text) => Some(text.to_owned()).filter(|text| !text.trim().is_empty()),
            None => {
                reader.refuse(setup, format!("setup must be a text, got {}", setup.kind()));
                None
            }
        },
    };
    let judge = match node.get("kind").and_then(Node::as_text) {
        Some("deterministic") => reader.deterministic(node),
        Some("llm-judge") => reader.llm_judge(node),
        Some("web") => reader.web(node),
        other => {
            let got = other.map_or_else(|| "nothing".to_owned(), |kind| format!("'{kind}'"));
            let at = node.get("kind").unwrap_or(node);
            reader.refuse(
                at,
                format!("kind must be one of: deterministic, llm-judge, web (got {got})"),
            );
            None
        }
    };
    match (fixture, judge) {
        (Some(fixture), Some(judge)) if reader.reasons.is_empty() => {
            Ok(Binding { fixture, setup, judge })
        }
        _ => Err(reader.reasons),
    }
}

impl Reader {
    fn deterministic(&mut self, node: &Node) -> Option<Judge> {
        let check = self.map(node, "check")?;
        let run = self.text(check, "check.run", "run");
        let pass = match check.get("pass") {
            None => Some(DEFAULT_PASS.to_owned()),
            Some(_) => self.text(check, "check.pass", "pass"),
        }?;
        if let Err(error) = classify(&pass) {
            self.refuse(check.get("pass").unwrap_or(check), format!("check.pass: {error}"));
        }
        Some(Judge::Deterministic { run: run?, pass })
    }

    fn llm_judge(&mut self, node: &Node) -> Option<Judge> {
        if let Some(old) = node.get("agentVotes") {
            self.refuse(old, "agentVotes is not known any more; write jury.votes".to_owned());
        }
        let success = self.text(node, "success", "success");
        let jury = match node.get("jury") {
            None => Some(JurySettings::default()),
            Some(jury) => self.jury(jury),
        };
        let rubric = match node.get("rubric") {
            None => Some(Vec::new()),
            Some(rubric) => self.texts(rubric, "rubric"),
        };
        Some(Judge::LlmJudge { success: success?, jury: jury?, rubric: rubric? })
    }

    fn jury(&mut self, node: &Node) -> Option<JurySettings> {
        match jury(node) {
            Ok(settings) => Some(settings),
            Err(reasons) => {
                self.reasons.extend(reasons);
                None
            }
        }
    }

    fn web(&mut self, node: &Node) -> Option<Judge> {
        let start = self.text(node, "start", "start");
        let spec = self.text(node, "spec", "spec");
        let readiness = self.map(node, "readiness")?;
        let timeout = readiness.get("timeoutMs").and_then(whole);
        if timeout.is_none() {
            let at = readiness.get("timeoutMs").unwrap_or(readiness);
            self.refuse(
                at,
                "readiness.timeoutMs must be a whole number of milliseconds from 1".to_owned(),
            );
        }
        let sign = match (readiness.get("url"), readiness.get("command")) {
            (Some(_), None) => self.text(readiness, "readiness.url", "url").map(Readiness::Url),
            (None, Some(_)) => {
                self.text(readiness, "readiness.command", "command").map(Readiness::Command)
            }
            _ => {
                self.refuse(readiness, "readiness needs exactly one of url and command".to_owned());
                None
            }
        };
        Some(Judge::Web {
            start: start?,
            readiness: sign?,
            timeout_ms: u64::from(timeout?),
            spec: spec?,
        })
    }

    fn map<'n>(&mut self, node: &'n Node, key: &str) -> Option<&'n Node> {
        let map = node.get(key).filter(|map| map.as_map().is_some());
        if map.is_none() {
            self.refuse(node.get(key).unwrap_or(node), format!("{key} must be a map"));
        }
        map
    }

    fn text(&mut self, node: &Node, path: &str, key: &str) -> Option<String> {
        let text = node.get(key).and_then(Node::as_text).filter(|text| !text.trim().is_empty());
        if text.is_none() {
            let at = node.get(key).unwrap_or(node);
            self.refuse(at, format!("{path} must be a text that is not empty"));
        }
        text.map(str::to_owned)
    }

    fn texts(&mut self, node: &Node, path: &str) -> Option<Vec<String>> {
        let texts = node.as_list().and_then(|items| {
            items
                .iter()
                .map(|item| {
                    item.as_text().filter(|text| !text.trim().is_empty()).map(str::to_owned)
                })
                .collect::<Option<Vec<String>>>()
        });
        if texts.is_none() {
            self.refuse(node, format!("{path} must be a list of texts that are not empty"));
        }
        texts
    }

    fn refuse(&mut self, node: &Node, message: String) {
        self.reasons.push(format!("{message} ({})", place(node)));
    }
}

/// Reads a jury, of a binding or of the configuration.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn jury(node: &Node) -> Result<JurySettings, Vec<String>> {
    let mut reader = Reader::default();
    if node.as_map().is_none() {
        reader.refuse(node, format!("jury must be a map, got {}", node.kind()));
        return Err(reader.reasons);
    }
    let votes = node.get("votes").map(|votes| {
        let count = whole(votes);
        if count.is_none() {
            reader.refuse(votes, "jury.votes must be a whole number from 1".to_owned());
        }
        count
    });
    let quorum = node.get("quorum").map(|quorum| {
        let word = quorum.as_text().and_then(Quorum::parse);
        if word.is_none() {
            reader.refuse(quorum, "jury.quorum must be one of: majority, unanimous".to_owned());
        }
        word
    });
    if let Some(panel) = node.get("panel") {
        let families = panel.get("families").and_then(Node::as_list);
        if families.is_none_or(<[Node]>::is_empty) {
            reader.refuse(panel, "jury.panel.families must name at least one family".to_owned());
        }
    }
    if reader.reasons.is_empty() {
        Ok(JurySettings { votes: votes.flatten(), quorum: quorum.flatten() })
    } else {
        Err(reader.reasons)
    }
}

/// The jury of a binding under the project's configuration: each field by itself.
#[must_use]
pub fn resolved(own: &JurySettings, project: &JurySettings) -> Jury {
    Jury {
        votes: own.votes.or(project.votes).unwrap_or(1),
        quorum: own.quorum.or(project.quorum).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bindings(text: &str) -> Bindings {
        let mut bindings = Bindings::default();
        bindings.add("a.yaml", text.as_bytes());
        bindings
    }

    // E-E07
    #[test]
    fn all_three_kinds_are_read() {
        let all = bindings(
            "
a#one: {kind: deterministic, fixture: f, check: {run: make}, extra: 1}
a#two: {kind: llm-judge, fixture: f, setup: npm ci, success: it works, jury: {votes: 3, quorum: unanimous}, rubric: [x]}
a#three: {kind: web, fixture: f, start: npm start, readiness: {url: 'http://localhost', timeoutMs: 5}, spec: a.spec.ts}
",
        );
        assert_eq!(all.warnings(), [""; 0]);
        let kinds = ["a#one", "a#two", "a#three"].map(|id| all.of(id).unwrap().kind());
        assert_eq!(kinds, [BindingKind::Deterministic, BindingKind::LlmJudge, BindingKind::Web]);
        let Judge::LlmJudge { jury, .. } = &all.of("a#two").unwrap().judge else { panic!() };
        assert_eq!((jury.votes, jury.quorum), (Some(3), Some(Quorum::Unanimous)));
    }

    // E-E08 E-E11
    #[test]
    fn bindings_may_stand_below_a_key_and_a_later_one_wins() {
        let mut all =
            bindings("bindings:\n  a: {kind: deterministic, fixture: f, check: {run: one}}\n");
        all.add("b.yaml", b"a: {kind: deterministic, fixture: f, check: {run: two}}\n");
        assert!(all.warnings()[0].starts_with("Duplicate binding for 'a' in b.yaml"));
        let two = Judge::Deterministic { run: "two".into(), pass: "exit-zero".into() };
        assert_eq!(all.of("a").unwrap().judge, two);
        assert_eq!(all.of("b"), None);
        assert_eq!(all.unused(&["c".into()]).collect::<Vec<_>>(), ["a"]);
    }

    // E-E09
    #[test]
    fn what_is_wrong_is_a_warning_with_its_place_and_costs_no_other_binding() {
        let all = bindings(
            "old: {kind: check, fixture: f}\nbad: {kind: web, fixture: 1, readiness: {}}\ngood: {kind: deterministic, fixture: f, check: {run: x}}\n",
        );
        assert!(all.of("good").is_some() && all.of("old").is_none() && all.of("bad").is_none());
        assert!(
            all.warnings()[0].contains("a.yaml: 'old': kind must be one of"),
            "{:?}",
            all.warnings()
        );
        assert!(all.warnings()[0].contains("(got 'check') (line 1, column"));
        for part in ["fixture must be", "start must be", "timeoutMs must be", "exactly one of url"]
        {
            assert!(all.warnings()[1].contains(part), "{part}: {}", all.warnings()[1]);
        }
        assert!(bindings("- a").warnings()[0].contains("not a mapping"));
        assert!(bindings("bindings: {}").warnings()[0].contains("no bindings"));
        assert!(bindings("a: [").warnings()[0].starts_with("a.yaml: "));
        let never =
            bindings("a: {kind: deterministic, fixture: f, check: {run: x, pass: 'regex:('}}");
        assert!(never.warnings()[0].contains("check.pass"), "{:?}", never.warnings());
    }

    // E-E10
    #[test]
    fn the_old_name_of_votes_is_refused_with_the_new_one() {
        let all = bindings("a: {kind: llm-judge, fixture: f, success: s, agentVotes: 3}");
        assert!(all.of("a").is_none() && all.warnings()[0].contains("jury.votes"));
    }

    // E-F13
    #[test]
    fn a_jury_is_layered_field_by_field() {
        let own = JurySettings { votes: Some(3), quorum: None };
        let project = JurySettings { votes: Some(5), quorum: Some(Quorum::Unanimous) };
        assert_eq!(resolved(&own, &project), Jury { votes: 3, quorum: Quorum::Unanimous });
        let nothing = JurySettings::default();
        assert_eq!(resolved(&nothing, &nothing), Jury { votes: 1, quorum: Quorum::Majority });
        let panel = |text: &str| jury(&yaml::parse(text).unwrap());
        assert!(panel("panel: {families: [a]}").is_ok());
        assert!(panel("panel: {families: []}").is_err());
        assert!(panel("votes: 0").is_err());
    }
}
