//! `ratchet validate`: everything that is wrong with changes, features and manifests (spec `cli-core` 8,
//! `batch-manifest-and-settings` 2.4).

use std::collections::BTreeMap;

use ratchet_supervisor::project::{Found, Project, Scope, Strictness, Subject, Validated};
use serde::Serialize;

use super::{Ended, failed, open};
use crate::args::Format;
use crate::args::planning::Validate;
use crate::ask;
use crate::diagnostic::Failure;
use crate::exit::Exit;
use crate::render::findings;
use crate::ui::Ui;

/// What `validate --json` prints.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    items: &'a [Validated],
    summary: Summary,
    version: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    totals: Totals,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    by_type: BTreeMap<&'static str, Totals>,
}

/// How many items are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Totals {
    pub(crate) items: usize,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

/// Checks one thing, or many.
pub(super) fn run(args: &Validate, ui: Ui) -> Ended {
    let project = open()?;
    let scopes = bulk(args);
    if !scopes.is_empty() {
        return many(&project, args, scopes, ui);
    }
    match &args.item {
        Some(item) => one(&project, args, subject(&project, item, args.kind.as_deref())?, ui),
        None if !args.no_interactive && is_person_there(&project, args) => {
            match ask::one_of(ui, "What is to be validated?", menu(&project)?)? {
                Some(Choice::Everything) => many(&project, args, &[Scope::Change, Scope::Spec], ui),
                Some(Choice::One(subject)) => one(&project, args, subject, ui),
                None => Ok(Exit::Success),
            }
        }
        None => Err(Failure::new("Nothing to validate: no item was named").help(
            "ratchet validate <name>\nratchet validate --all\nratchet validate --changes\nratchet validate --specs",
        )),
    }
}

fn is_person_there(project: &Project, args: &Validate) -> bool {
    args.output.format() == Format::Text && ask::is_somebody_there(project.environment())
}

fn bulk(args: &Validate) -> &'static [Scope] {
    match (args.all, args.changes, args.specs) {
        (true, _, _) | (false, true, true) => &[Scope::Change, Scope::Spec],
        (false, true, false) => &[Scope::Change],
        (false, false, true) => &[Scope::Spec],
        (false, false, false) => &[],
    }
}

fn many(project: &Project, args: &Validate, scopes: &[Scope], ui: Ui) -> Ended {
    let subjects = project.subjects(scopes).map_err(failed)?;
    let items = project.validate(&subjects, strictness(args)).map_err(failed)?;
    let totals = Totals::of(items.iter());
    match args.output.format() {
        Format::Json => ui.json(&Answer::of(&items, scopes))?,
        Format::Text if items.is_empty() => ui.text(|page| {
            page.put("No items found to validate.").end();
        })?,
        Format::Text => {
            ui.text(|page| findings::passed(page, &items))?;
            ui.tell(|page| findings::failed(page, &items));
            ui.text(|page| findings::totals(page, totals))?;
        }
    }
    Ok(exit(totals))
}

fn one(project: &Project, args: &Validate, subject: Subject, ui: Ui) -> Ended {
    let items =
        project.validate(std::slice::from_ref(&subject), strictness(args)).map_err(failed)?;
    let item = &items[0];
    match args.output.format() {
        Format::Json => ui.json(&Answer::of(&items, &[]))?,
        Format::Text if item.valid => {
            ui.text(|page| findings::valid(page, item))?;
            ui.tell(|page| findings::issues(page, item));
        }
        Format::Text => ui.tell(|page| {
            findings::invalid(page, item);
            findings::issues(page, item);
            findings::next_steps(page, &subject);
        }),
    }
    Ok(exit(Totals::of(items.iter())))
}

fn subject(project: &Project, item: &str, kind: Option<&str>) -> Result<Subject, Failure> {
    // Another word than these three was never refused, so it is let pass.
    let scope = match kind.map(str::to_ascii_lowercase).as_deref() {
        Some("change") => Some(Scope::Change),
        Some("spec") => Some(Scope::Spec),
        Some("batch") => Some(Scope::Batch),
        Some(_) | None => None,
    };
    match project.find_subject(item, scope).map_err(failed)? {
        Found::One(subject) => Ok(subject),
        Found::Ambiguous => Err(Failure::new(format!("'{item}' is both a change and a spec"))
            .help(format!("say which: ratchet validate {item} --type change, or --type spec"))),
        Found::Nothing(near) => {
            let failure = Failure::new(format!("Unknown item '{item}'"));
            Err(if near.is_empty() {
                failure.help("there is nothing yet: ratchet new change <name>")
            } else {
                failure.help(format!("did you mean: {}?", near.join(", ")))
            })
        }
    }
}

/// A line of the menu.
#[derive(Debug, Clone)]
enum Choice {
    Everything,
    One(Subject),
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Everything => f.write_str("everything"),
            Self::One(subject) => write!(f, "{}/{}", subject.kind(), subject.id()),
        }
    }
}

fn menu(project: &Project) -> Result<Vec<Choice>, Failure> {
    let all = [Scope::Change, Scope::Spec, Scope::Batch];
    let subjects = project.subjects(&all).map_err(failed)?;
    let choices = subjects.into_iter().map(Choice::One);
    Ok(std::iter::once(Choice::Everything).chain(choices).collect())
}

fn strictness(args: &Validate) -> Strictness {
    if args.strict { Strictness::Strict } else { Strictness::Lenient }
}

fn exit(totals: Totals) -> Exit {
    if totals.failed == 0 { Exit::Success } else { Exit::Failure }
}

impl Totals {
    fn of<'a>(items: impl Iterator<Item = &'a Validated>) -> Self {
        items.fold(Self::default(), |totals, item| Self {
            items: totals.items + 1,
            passed: totals.passed + usize::from(item.valid),
            failed: totals.failed + usize::from(!item.valid),
        })
    }
}

impl<'a> Answer<'a> {
    /// Counts by type what was looked for, also where nothing was found. Batches are not counted by type.
    fn of(items: &'a [Validated], scopes: &[Scope]) -> Self {
        let kinds = [("change", Scope::Change), ("spec", Scope::Spec)];
        let counted = |(kind, scope): &(&str, Scope)| {
            scopes.contains(scope) || items.iter().any(|item| item.kind == *kind)
        };
        let by_type = kinds
            .into_iter()
            .filter(counted)
            .map(|(kind, _)| (kind, Totals::of(items.iter().filter(|item| item.kind == kind))));
        let summary = Summary { totals: Totals::of(items.iter()), by_type: by_type.collect() };
        Self { items, summary, version: "1.0" }
    }
}

#[cfg(test)]
mod tests {
    use ratchet_engine::level::Level;
    use ratchet_supervisor::project::ValidationIssue;

    use super::*;
    use crate::schemas::assert_fits;

    fn good(id: &str, kind: &'static str) -> Validated {
        let duration_ms = (kind != "batch").then_some(0);
        Validated { id: id.into(), kind, valid: true, issues: Vec::new(), duration_ms }
    }

    fn bad(id: &str, kind: &'static str) -> Validated {
        let issue = ValidationIssue {
            level: Level::Error,
            path: "plan.md".into(),
            message: "the plan is missing".into(),
            line: Some(4),
            column: None,
        };
        Validated { valid: false, issues: vec![issue], ..good(id, kind) }
    }

    // C-K18
    #[test]
    fn the_summary_counts_each_type_that_was_looked_for() {
        let items = [good("a", "change"), bad("b", "change")];
        let answer = Answer::of(&items, &[Scope::Change, Scope::Spec]);
        assert_fits("validate", &answer);
        let json = serde_json::to_value(&answer).unwrap();
        assert_eq!(json["summary"]["totals"]["items"], 2);
        assert_eq!(json["summary"]["byType"]["change"]["failed"], 1);
        assert_eq!(json["summary"]["byType"]["spec"]["items"], 0);
        let batch = [bad("s", "batch")];
        let json = serde_json::to_value(Answer::of(&batch, &[])).unwrap();
        assert_eq!(json["summary"].get("byType"), None);
        assert_eq!(json["items"][0].get("durationMs"), None);
        assert_fits("validate", &Answer::of(&[], &[Scope::Spec]));
    }
}
