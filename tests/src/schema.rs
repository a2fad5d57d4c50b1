//! Holds every `--json` answer that a test sees against its schema in `docs/schemas/`, which is what programs rely on.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

/// The folder of the schemas.
pub fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schemas"))
}

/// Which schema describes the answer to these words after `ratchet`; `None` if they ask for no JSON.
pub fn name_for(words: &[String]) -> Option<&str> {
    if !words.iter().any(|word| word == "--json") {
        return None;
    }
    let mut verbs = words.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    match verbs.next()? {
        "batch" => verbs.next(),
        "supervisor" => match verbs.next()? {
            "status" => Some("supervisor-status"),
            "stop" => Some("supervisor-stop"),
            _ => None,
        },
        "worker" => match verbs.next()? {
            "list" => Some("worker-list"),
            "check" => Some("doctor"),
            "drain" => Some("worker-drain"),
            _ => None,
        },
        "eval" => match verbs.next()? {
            "set" => Some("eval-set"),
            "run" => Some("eval-run"),
            "report" => Some("eval-report"),
            "record" => Some("eval-record"),
            "baseline" => Some("eval-baseline"),
            "mutate" => Some("eval-mutate"),
            "replay" => Some("eval-replay"),
            _ => None,
        },
        "doctor" if words.iter().any(|word| word == "--reap") => Some("reap"),
        "doctor" if words.iter().any(|word| word == "--locus") => Some("examine"),
        "propose" | "apply" | "verify" => Some("verb"),
        "new" => match verbs.next()? {
            "change" => Some("new-change"),
            _ => Some("new"),
        },
        "list" => Some("changes"),
        "view" => Some("overview"),
        "archive" => Some("change-archive"),
        "status" => Some("change-status"),
        verb => Some(verb),
    }
}

/// Everything in which a document differs from a schema; nothing when it fits.
///
/// # Panics
/// When there is no such schema.
pub fn problems(name: &str, document: &Value) -> Vec<String> {
    let path = folder().join(format!("{name}.json"));
    let text = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("no schema {}: {error}", path.display()));
    let schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema is a schema");
    validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        name_for(&words).map(str::to_owned)
    }

    #[test]
    fn a_schema_is_found_by_the_verb() {
        assert_eq!(of("batch status shop --json").as_deref(), Some("status"));
        assert_eq!(of("--no-color new batch --json").as_deref(), Some("new"));
        assert_eq!(of("propose --json status").as_deref(), Some("verb"));
        assert_eq!(of("status --change a --json").as_deref(), Some("change-status"));
        assert_eq!(of("new change a --json").as_deref(), Some("new-change"));
        assert_eq!(of("batch status"), None);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let problems = problems("approve", &serde_json::json!({"kind": 1}));
        assert!(problems.iter().any(|problem| problem.contains("/kind")), "{problems:?}");
    }
}
