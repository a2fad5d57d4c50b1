//! The report that Stryker's viewers open: `mutation-testing-report-schema`, version 2.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::attempt::{Attempt, Cause, Verdict};
use super::outcomes::Outcomes;

/// Writes the report. `source` gives the text of a file as it is without a fault.
#[must_use]
pub fn report(outcomes: &Outcomes, source: &dyn Fn(&str) -> Option<String>) -> Value {
    let mut files: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for attempt in &outcomes.attempts {
        // Nothing was changed, so there is no file to show it in.
        let Some(file) = attempt.files.first() else { continue };
        files.entry(file).or_default().push(mutant(attempt));
    }
    let files: serde_json::Map<String, Value> = files
        .into_iter()
        .map(|(file, mutants)| {
            let entry = json!({
                "language": language(file),
                "source": source(file).unwrap_or_default(),
                "mutants": mutants,
            });
            (file.to_owned(), entry)
        })
        .collect();
    json!({
        "schemaVersion": "2",
        "thresholds": { "high": 100, "low": 100 },
        "framework": { "name": "ratchet" },
        "projectRoot": ".",
        "files": files,
    })
}

fn mutant(attempt: &Attempt) -> Value {
    let (status, reason) = match &attempt.verdict {
        Verdict::Killed { cause } => match cause {
            Cause::Failed { .. } => ("Killed", cause.words()),
            Cause::Timeout { .. } => ("Timeout", cause.words()),
            Cause::OutOfMemory
            | Cause::OutputLimit { .. }
            | Cause::CannotRun { .. }
            | Cause::Signal { .. } => ("RuntimeError", cause.words()),
        },
        Verdict::Survived => ("Survived", String::new()),
        Verdict::NoChange => ("Ignored", "nothing was changed".to_owned()),
        Verdict::OutOfScope { reason } | Verdict::Voided { reason } => ("Ignored", reason.clone()),
        Verdict::Duplicate { of } => ("Ignored", format!("the same as attempt #{of}")),
    };
    let line = attempt.line.max(1);
    let mut mutant = json!({
        "id": attempt.index.to_string(),
        "mutatorName": "agent",
        "replacement": added(&attempt.excerpt),
        "location": {
            "start": { "line": line, "column": 1 },
            "end": { "line": line, "column": 2 },
        },
        "status": status,
        "duration": attempt.oracle_ms,
    });
    if !reason.is_empty() {
        mutant["statusReason"] = json!(reason);
    }
    mutant
}

/// Gives the lines that a diff adds.
fn added(diff: &str) -> String {
    let lines: Vec<&str> = diff
        .lines()
        .filter(|line| line.starts_with('+') && !line.starts_with("+++"))
        .map(|line| &line[1..])
        .collect();
    lines.join("\n")
}

fn language(file: &str) -> &'static str {
    match file.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "rs" => "rust",
        "py" => "python",
        "js" | "jsx" | "mjs" | "cjs" => "javascript",
        "ts" | "tsx" => "typescript",
        "go" => "go",
        "java" => "java",
        "cs" => "cs",
        "scala" => "scala",
        "c" | "h" => "c",
        "cpp" | "cc" | "hpp" => "cpp",
        "rb" => "ruby",
        "php" => "php",
        "sh" => "bash",
        _ => "text",
    }
}

#[cfg(test)]
mod tests {
    use super::super::Mutation;
    use super::*;

    #[test]
    fn every_fault_stands_in_its_file_with_a_status_that_viewers_know() {
        let attempt = |index: u32, verdict| Attempt {
            files: vec!["src/a.rs".into()],
            line: 7,
            oracle_ms: 4,
            excerpt: "--- a\n+++ b\n@@\n-a < b\n+a <= b".into(),
            ..Attempt::bare(index, verdict)
        };
        let mutation = Mutation { id: "m".into(), test: "t".into(), budget: 2, threshold: 1 };
        let wall = Cause::Timeout { limit: "wall".into(), after_ms: 1 };
        let outcomes = Outcomes::of(
            &mutation,
            "r",
            vec![attempt(0, Verdict::Survived), attempt(1, Verdict::Killed { cause: wall })],
        );
        let report = report(&outcomes, &|_| Some("source\n".into()));
        assert_eq!(report["schemaVersion"], "2");
        let file = &report["files"]["src/a.rs"];
        assert_eq!((&file["language"], &file["source"]), (&json!("rust"), &json!("source\n")));
        let mutants = file["mutants"].as_array().unwrap();
        assert_eq!(mutants[0]["status"], "Survived");
        assert_eq!(mutants[0]["replacement"], "a <= b");
        assert_eq!(mutants[0]["location"]["start"]["line"], 7);
        assert_eq!((&mutants[1]["status"], &mutants[1]["id"]), (&json!("Timeout"), &json!("1")));
    }
}
