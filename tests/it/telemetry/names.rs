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
