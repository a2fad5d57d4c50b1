//! The `eval` section of `.ratchet/config.yaml`. One value that is not as it should be drops the section, with one warning,
//! and then everything counts and nothing is skipped: the safe side (spec `eval` 13).

use ratchet_engine::yaml::{self, Node};

use crate::binding::jury;
use crate::contributor::Contributor;
use crate::jury::JurySettings;

/// What a project says about evaluations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// Contributors that are switched on or off.
    pub gate: Vec<(Contributor, bool)>,
    /// The old way to say which judges count.
    pub judge: Option<String>,
    /// The jury of bindings that do not say.
    pub jury: JurySettings,
    /// Patterns of cases that are not judged.
    pub skip: Vec<String>,
}

/// Reads the section out of a configuration; the second value says what is wrong with it. A file that is no YAML at all is
/// for others to complain of.
#[must_use]
pub fn read(bytes: &[u8]) -> (Config, Option<String>) {
    let Ok(root) = yaml::parse_bytes(bytes) else { return (Config::default(), None) };
    let Some(section) = root.get("eval") else { return (Config::default(), None) };
    match parse(section) {
        Ok(config) => (config, None),
        Err(why) => {
            let warning = format!("config.yaml: the eval section is ignored: {why}");
            (Config::default(), Some(warning))
        }
    }
}

fn parse(section: &Node) -> Result<Config, String> {
    let mut config = Config::default();
    if matches!(section.value, yaml::Value::Null) {
        return Ok(config);
    }
    let members = section.as_map().ok_or_else(|| at(section, "eval must be a map"))?;
    for member in members {
        match member.key.as_str() {
            "gate" => config.gate = gate(&member.node)?,
            "judge" => {
                let mode = member.node.as_text();
                let known =
                    mode.filter(|mode| ["auto", "deterministic", "llm-judge"].contains(mode));
                let wrong = || {
                    at(&member.node, "eval.judge must be one of: auto, deterministic, llm-judge")
                };
                config.judge = Some(known.ok_or_else(wrong)?.to_owned());
            }
            "jury" => config.jury = jury(&member.node).map_err(|reasons| reasons.join("; "))?,
            "skip" => config.skip = skip(&member.node)?,
            // A newer version may know more.
            _ => {}
        }
    }
    Ok(config)
}

fn gate(node: &Node) -> Result<Vec<(Contributor, bool)>, String> {
    let members = node.as_map().ok_or_else(|| at(node, "eval.gate must be a map"))?;
    members
        .iter()
        .map(|member| {
            let contributor = Contributor::find(&member.key)
                .map_err(|error| at(&member.node, &format!("eval.gate: {error}")))?;
            let enabled = member
                .node
                .as_bool()
                .ok_or_else(|| at(&member.node, "eval.gate takes true and false"))?;
            Ok((contributor, enabled))
        })
        .collect()
}

fn skip(node: &Node) -> Result<Vec<String>, String> {
    let items = node.as_list().ok_or_else(|| at(node, "eval.skip must be a list"))?;
    let pattern = |item: &Node| item.as_text().filter(|text| !text.is_empty()).map(str::to_owned);
    items
        .iter()
        .map(|item| {
            pattern(item).ok_or_else(|| at(item, "eval.skip takes texts that are not empty"))
        })
        .collect()
}

fn at(node: &Node, message: &str) -> String {
    format!("{message} (line {}, column {})", node.line, node.column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jury::Quorum;

    #[test]
    fn a_section_is_read() {
        let text = b"eval:\n  gate: {llm-judge: false}\n  judge: auto\n  jury: {votes: 3, quorum: unanimous}\n  skip: [a*]\n";
        let (config, warning) = read(text);
        assert_eq!(warning, None);
        assert_eq!(config.gate, [(Contributor::LlmJudge, false)]);
        assert_eq!((config.jury.votes, config.jury.quorum), (Some(3), Some(Quorum::Unanimous)));
        assert_eq!((config.skip, config.judge.as_deref()), (vec!["a*".to_owned()], Some("auto")));
    }

    #[test]
    fn one_wrong_value_drops_the_section_with_one_warning() {
        for text in [
            "gate: {nope: true}",
            "gate: {invariants: 1}",
            "jury: {votes: 0}",
            "skip: ['']",
            "judge: x",
        ] {
            let (config, warning) = read(
                format!("eval:\n  skip: [a]\n  {text}\n")
                    .replace("  skip: [a]\n  skip", "  skip")
                    .as_bytes(),
            );
            assert_eq!(config, Config::default(), "{text}");
            assert!(warning.unwrap().contains("line "), "{text}");
        }
    }
}
