//! What an archive is about to do and has done, as text (spec `cli-core` 9.2 and 9.3).

use std::collections::BTreeMap;
use std::path::Path;

use ratchet_engine::time::Timestamp;
use ratchet_supervisor::project::{ArchiveOutlook, Archived, Checks, FeatureChanges, StoreUpdate};

use super::page::{Page, Tone};

/// Tells what keeps a change, or only should be known.
pub(crate) fn outlook(page: &mut Page, outlook: &ArchiveOutlook, checks: Checks, now: Timestamp) {
    if checks == Checks::Waived {
        page.tone(Tone::Warn, format_args!("⚠ [{now}] archived without validation: "));
        page.put(&outlook.change).end();
    }
    for issue in &outlook.plan {
        page.tone(Tone::Warn, "⚠ ").put(format_args!("{}: {}", issue.path, issue.message)).end();
    }
    if checks == Checks::Made {
        for fault in &outlook.faults {
            page.tone(Tone::Bad, "✗ ").put(fault).end();
        }
    }
    let open = outlook.facts.tasks_total - outlook.facts.tasks_complete;
    if open > 0 {
        let total = outlook.facts.tasks_total;
        page.tone(Tone::Warn, format_args!("⚠ {open} of {total} tasks are open")).end();
    }
}

/// Tells what was done.
pub(crate) fn archived(page: &mut Page, archived: &Archived, store: StoreUpdate, root: &Path) {
    match store {
        StoreUpdate::Skipped => {
            page.put("Feature store left as it is.").end();
        }
        StoreUpdate::Made => features(page, &archived.features),
    }
    let path = archived.path.strip_prefix(root).unwrap_or(&archived.path);
    page.tone(Tone::Good, "✓ ");
    page.put(format_args!("Change '{}' archived to {}", archived.change, path.display())).end();
}

/// How many features of a capability were added, overwritten, deleted and left.
#[derive(Default, Clone, Copy)]
struct Counts([usize; 4]);

fn features(page: &mut Page, changes: &FeatureChanges) {
    let kinds = [&changes.added, &changes.overwritten, &changes.deleted, &changes.unchanged];
    if kinds[..3].iter().all(|paths| paths.is_empty()) {
        page.put("No feature changes to apply.").end();
        return;
    }
    let mut by_capability: BTreeMap<String, Counts> = BTreeMap::new();
    for (kind, paths) in kinds.into_iter().enumerate() {
        for path in paths {
            by_capability.entry(capability(path)).or_default().0[kind] += 1;
        }
    }
    page.tone(Tone::Heading, "Feature store:").end();
    for (capability, counts) in &by_capability {
        page.put(format_args!("  {capability}: {}", counts.in_words())).end();
    }
    let totals = Counts(kinds.map(Vec::len));
    page.tone(Tone::Dim, format_args!("  Totals: {}", totals.in_words())).end();
}

fn capability(path: &Path) -> String {
    path.iter().next().unwrap_or_default().to_string_lossy().into_owned()
}

impl Counts {
    fn in_words(self) -> String {
        let [added, overwritten, deleted, unchanged] = self.0;
        format!(
            "+{added} added, ~{overwritten} overwritten, -{deleted} deleted, {unchanged} unchanged"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::render::page::Ink;

    // C-L08
    #[test]
    fn what_happened_to_the_store_is_told_by_capability() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        let changes = FeatureChanges {
            added: paths(&["cart/a.feature", "shop/b.feature"]),
            overwritten: paths(&["cart/c.feature"]),
            unchanged: paths(&["cart/d.feature"]),
            deleted: paths(&["till/e.feature"]),
        };
        let mut page = Page::new(Ink::Plain);
        features(&mut page, &changes);
        features(&mut page, &FeatureChanges::default());
        insta::assert_snapshot!(page.finish(), @r"
        Feature store:
          cart: +1 added, ~1 overwritten, -0 deleted, 1 unchanged
          shop: +1 added, ~0 overwritten, -0 deleted, 0 unchanged
          till: +0 added, ~0 overwritten, -1 deleted, 0 unchanged
          Totals: +2 added, ~1 overwritten, -1 deleted, 1 unchanged
        No feature changes to apply.
        ");
    }
}
