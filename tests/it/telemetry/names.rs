//! The guide's tables are those of `name.rs`. `RATCHET_BLESS=1` writes them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ratchet_telemetry::name::{Attribute, EventName, MetricName, SpanName};

const BEGIN: &str = "<!-- names: written by a test from proto/telemetry/src/name.rs -->\n";
const END: &str = "<!-- end of names -->\n";

fn tables() -> String {
    let mut text = String::from("\n### Spans\n\n");
    for name in SpanName::ALL {
        writeln!(text, "- `{}`", name.text()).expect("a string takes text");
    }
    let mut table = |title: &str, rows: Vec<(&str, &str)>| {
        write!(text, "\n### {title}\n\n| name | what it tells |\n| --- | --- |\n").expect("text");
        for (name, about) in rows {
            writeln!(text, "| `{name}` | {about} |").expect("text");
        }
    };
    table("Attributes", Attribute::ALL.iter().map(|name| (name.as_str(), name.about())).collect());
    table("Events", EventName::ALL.iter().map(|name| (name.as_str(), name.about())).collect());
    table("Metrics", MetricName::ALL.iter().map(|name| (name.as_str(), name.about())).collect());
    text.push('\n');
    text
}

#[test]
fn the_guide_has_every_name_and_no_other() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/telemetry.md");
    let guide = fs::read_to_string(&path).expect("the guide is there");
    let (before, rest) = guide.split_once(BEGIN).expect("the tables have a beginning");
    let (_, after) = rest.split_once(END).expect("the tables have an end");
    let wanted = format!("{before}{BEGIN}{}{END}{after}", tables());
    if std::env::var_os("RATCHET_BLESS").is_some() {
        fs::write(&path, wanted).expect("the guide can be written");
        return;
    }
    assert!(guide == wanted, "docs/guide/telemetry.md: run this test with RATCHET_BLESS=1");
}

/// Names as Prometheus has them: the collector adds units and kinds at their ends.
#[test]
fn the_dashboard_asks_for_nothing_that_is_not_told() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/observability/grafana/ratchet.json");
    let text = fs::read_to_string(&path).expect("the dashboard is there");
    let dashboard: serde_json::Value = serde_json::from_str(&text).expect("the dashboard is JSON");
    let flat = |name: &str| name.replace('.', "_");
    let metrics: Vec<String> = MetricName::ALL.iter().map(|name| flat(name.as_str())).collect();
    let attributes: Vec<String> = Attribute::ALL.iter().map(|name| flat(name.as_str())).collect();
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let mut asked_for = Vec::new();
    for expression in targets.filter_map(|target| target["expr"].as_str()) {
        for word in expression.split(|c: char| !c.is_alphanumeric() && c != '_') {
            let Some(kind) =
                ["ratchet_", "cicd_", "gen_ai_"].iter().find(|kind| word.starts_with(**kind))
            else {
                continue;
            };
            let is_metric = metrics.iter().any(|name| {
                let end = word.strip_prefix(name.as_str());
                end.is_some_and(|end| {
                    ["", "_total", "_sum", "_bucket", "_seconds_bucket"].contains(&end)
                })
            });
            assert!(is_metric || attributes.contains(&word.to_owned()), "{kind}: {word}");
            asked_for.push(word.to_owned());
        }
    }
    for name in &metrics {
        let is_shown = asked_for.iter().any(|word| word.starts_with(name.as_str()));
        assert!(is_shown, "{name} is in no panel");
    }
}
