//! The two files that settings come from beside a manifest, and the one command that writes to one of them.
//! What the settings mean and how they merge is decided in [`ratchet_engine::settings`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ratchet_engine::manifest::Issue;
use ratchet_engine::permission::{PermissionsLayer, Posture};
use ratchet_engine::settings::{Assigned, Assignment, Layer, Word as _};
use ratchet_engine::yaml::{self, Node, Value};
use secrecy::ExposeSecret as _;
use serde_json::{Map, Value as Json};
use yaml_edit::YamlValue;

use super::edit::{self, EditError};
use super::file::{Doing, FileError, Limit, Of as _, folder_of, read_if_there, replace};
use super::layout::Layout;
use super::os_lock;
use crate::error::with_causes;

/// The workflow of a project that names none.
pub const DEFAULT_SCHEMA: &str = "ratchet";

/// The longest `context` that is told, in bytes.
const LONGEST_CONTEXT: usize = 51_200;

/// What `.ratchet/config.yaml` says.
#[derive(Debug, Clone)]
pub struct ProjectConfig {
    /// `schema`, the workflow of new changes.
    pub schema: String,
    /// `context`, what every artifact's instructions tell about the project.
    pub context: Option<String>,
    /// `rules`, what is to be kept to when an artifact is made, by its id.
    pub rules: BTreeMap<String, Vec<String>>,
    /// `batch`, the project's layer of settings.
    pub batch: Layer,
    /// What was left out, and why; one line each, without secrets.
    pub warnings: Vec<String>,
}

/// Reads the project's configuration. What is wrong in it is left out with a warning, key by key; a file that is no YAML
/// counts as absent (spec `batch-manifest-and-settings` 4.1).
///
/// # Errors
/// Fails if the file is there and cannot be read at all, for then a gate could be missed.
pub fn read_project(layout: &Layout) -> Result<ProjectConfig, FileError> {
    let path = project_file(layout);
    let none = ProjectConfig {
        schema: DEFAULT_SCHEMA.to_owned(),
        context: None,
        rules: BTreeMap::new(),
        batch: Layer::default(),
        warnings: Vec::new(),
    };
    let Some(bytes) = read_if_there(&path, Limit::CONFIG)? else { return Ok(none) };
    let name = path.strip_prefix(layout.root()).unwrap_or(&path).display();
    match yaml::parse_bytes(&bytes) {
        Ok(Node { value: Value::Null, .. }) => Ok(none),
        Ok(root) if root.as_map().is_some() => Ok(project_config(&root, &name.to_string())),
        Ok(_) => {
            Ok(ProjectConfig { warnings: vec![format!("{name}: not a map; ignored")], ..none })
        }
        Err(error) => {
            Ok(ProjectConfig { warnings: vec![format!("{name}: {error}; ignored")], ..none })
        }
    }
}

/// What the user's own configuration says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserConfig {
    /// `batch.permissions`.
    pub permissions: Option<PermissionsLayer>,
    /// What was left out, and why; one line each, without secrets.
    pub warnings: Vec<String>,
}

/// Reads the user's configuration. A malformed file or policy counts as absent, with a warning: what applies instead may
/// allow more.
#[must_use]
pub fn read_user(path: Option<&Path>) -> UserConfig {
    let Some(path) = path else { return UserConfig::default() };
    let ignored = |why: String| UserConfig { permissions: None, warnings: vec![why + "; ignored"] };
    let bytes = match read_if_there(path, Limit::CONFIG) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return UserConfig::default(),
        Err(error) => return ignored(with_causes(&error)),
    };
    let name = path.display();
    let json = match serde_json::from_slice::<Json>(&bytes) {
        Ok(json @ Json::Object(_)) => json,
        Ok(_) => return ignored(format!("{name}: not a map")),
        Err(error) => return ignored(format!("{name}: {error}")),
    };
    // Compact JSON is YAML too; as it lies in the file it need not be, for JSON may be indented by tabs.
    let (permissions, issues) = match yaml::parse(&json.to_string()) {
        Ok(node) => PermissionsLayer::from_user(&node),
        Err(error) => return ignored(format!("{name}: {}", error.problem)),
    };
    let warning = |issue| {
        // The places are those of the compact text.
        let issue = Issue { line: None, column: None, ..issue };
        format!("{name}: {issue}; the permissions in it are ignored")
    };
    UserConfig { permissions, warnings: issues.into_iter().map(warning).collect() }
}

/// Writes a checked assignment to the project's configuration; comments and everything else stay.
///
/// # Errors
/// Leaves the file byte for byte as it was.
pub fn assign(layout: &Layout, assignment: &Assignment) -> Result<(), EditError> {
    let value = match &assignment.value {
        Assigned::Text(text) => YamlValue::from(text.as_str()),
        Assigned::Secret(text) => YamlValue::from(text.expose_secret()),
        Assigned::Integer(number) => match i64::try_from(*number) {
            Ok(number) => YamlValue::from(number),
            Err(_) => YamlValue::from(*number as f64),
        },
        Assigned::Number(number) => YamlValue::from(*number),
        Assigned::Bool(value) => YamlValue::from(*value),
        Assigned::Stages(stages) => YamlValue::Mapping(
            stages
                .iter()
                .map(|(stage, spec)| (stage.to_string(), YamlValue::from(spec.to_string())))
                .collect(),
        ),
    };
    set_in_project(layout, &["batch", assignment.key.as_str()], &value)
}

/// Writes a permission posture to the project's configuration.
///
/// # Errors
/// As [`assign`].
pub fn save_project_posture(layout: &Layout, posture: Posture) -> Result<(), EditError> {
    let value = YamlValue::from(posture.as_str());
    set_in_project(layout, &["batch", "permissions", "posture"], &value)
}

/// Writes a permission posture to the user's configuration; unknown members stay.
///
/// # Errors
/// Leaves a file that is no JSON object as it was.
pub fn save_user_posture(path: &Path, posture: Posture) -> Result<(), FileError> {
    let broken = || std::io::Error::new(std::io::ErrorKind::InvalidData, "it is no JSON object");
    let folder = folder_of(path);
    make_private_folder(folder)?;
    let _lock = os_lock::wait_for_folder(folder)?;
    let bytes = read_if_there(path, Limit::CONFIG)?.unwrap_or_else(|| b"{}".to_vec());
    let mut root: Json =
        serde_json::from_slice(&bytes).map_err(|_| broken()).of(path, Doing::Write)?;
    let mut at = &mut root;
    for key in ["batch", "permissions"] {
        let members = at.as_object_mut().ok_or_else(broken).of(path, Doing::Write)?;
        at = members.entry(key).or_insert_with(|| Json::Object(Map::new()));
    }
    let members = at.as_object_mut().ok_or_else(broken).of(path, Doing::Write)?;
    members.insert("posture".to_owned(), posture.as_str().into());
    let mut text = serde_json::to_vec_pretty(&root).expect("a JSON value is always JSON");
    text.push(b'\n');
    replace(path, &text)
}

/// Makes a folder outside of the project that nobody else may look into.
fn make_private_folder(folder: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder).of(folder, Doing::MakeFolder)
}

fn set_in_project(layout: &Layout, keys: &[&str], value: &YamlValue) -> Result<(), EditError> {
    let ratchet = layout.ratchet();
    std::fs::create_dir_all(&ratchet).of(&ratchet, Doing::MakeFolder)?;
    // Read, changed and replaced in one piece: what another process sets meanwhile must not be lost.
    let _lock = os_lock::wait_for_folder(&ratchet)?;
    edit::set(&project_file(layout), keys, value)
}

/// Returns `config.yaml`, or `config.yml` if only that is there.
fn project_file(layout: &Layout) -> PathBuf {
    let (yaml, yml) = (layout.config_yaml(), layout.config_yml());
    if !yaml.exists() && yml.exists() { yml } else { yaml }
}

fn project_config(root: &Node, name: &str) -> ProjectConfig {
    let mut warnings = Vec::new();
    let schema = root.get("schema").and_then(|node| match node.as_text() {
        Some(text) if !text.trim().is_empty() => Some(text.to_owned()),
        _ => {
            warnings.push(format!("{name}: schema: expected a text that is not empty; ignored"));
            None
        }
    });
    let batch = root.get("batch").map(Layer::from_project).map(|(layer, issues)| {
        warnings.extend(issues.iter().map(|issue| format!("{name}: {issue}; ignored")));
        layer
    });
    let context = root.get("context").and_then(|node| {
        let read = context(node);
        warnings.extend(read.as_ref().err().map(|why| format!("{name}: context: {why}; ignored")));
        read.ok()
    });
    let rules =
        root.get("rules").map_or_else(BTreeMap::new, |node| rules(node, name, &mut warnings));
    ProjectConfig {
        schema: schema.unwrap_or_else(|| DEFAULT_SCHEMA.to_owned()),
        context,
        rules,
        batch: batch.unwrap_or_default(),
        warnings,
    }
}

fn context(node: &Node) -> Result<String, String> {
    match node.as_text() {
        Some(text) if text.len() <= LONGEST_CONTEXT => Ok(text.to_owned()),
        Some(text) => {
            Err(format!("it has {} bytes; at most {LONGEST_CONTEXT} are told", text.len()))
        }
        None => Err("expected a text".to_owned()),
    }
}

/// Reads `rules`: lists of texts by artifact. A list that is none is left out, and so is what is no text in one.
fn rules(node: &Node, name: &str, warnings: &mut Vec<String>) -> BTreeMap<String, Vec<String>> {
    let Some(members) = node.as_map() else {
        warnings.push(format!("{name}: rules: expected a map of lists; ignored"));
        return BTreeMap::new();
    };
    let mut rules = BTreeMap::new();
    for member in members {
        let Some(items) = member.node.as_list() else {
            warnings
                .push(format!("{name}: rules.{}: expected a list of texts; ignored", member.key));
            continue;
        };
        let texts: Vec<&str> = items.iter().filter_map(Node::as_text).collect();
        if texts.len() < items.len() {
            warnings.push(format!("{name}: rules.{}: what is no text is ignored", member.key));
        }
        let kept: Vec<String> =
            texts.into_iter().filter(|text| !text.trim().is_empty()).map(str::to_owned).collect();
        if !kept.is_empty() {
            rules.insert(member.key.clone(), kept);
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use ratchet_engine::settings::check_assignment;

    use super::*;

    /// Runs all at once, each on its own thread.
    fn together(count: usize, act: impl Fn(usize) + Sync) {
        let start = std::sync::Barrier::new(count);
        std::thread::scope(|scope| {
            for index in 0..count {
                let (act, start) = (&act, &start);
                scope.spawn(move || {
                    start.wait();
                    act(index);
                });
            }
        });
    }

    #[test]
    fn of_settings_that_are_set_at_once_none_is_lost() {
        const SET: [(&str, &str); 5] = [
            ("port", "1"),
            ("dockerPidsLimit", "2"),
            ("image", "three"),
            ("host", "four"),
            ("network", "five"),
        ];
        for _ in 0..10 {
            let dir = tempfile::tempdir().unwrap();
            let layout = Layout::new(dir.path());
            together(SET.len() + 1, |index| match SET.get(index) {
                Some((key, value)) => {
                    assign(&layout, &check_assignment(key, value).unwrap()).unwrap();
                }
                None => save_project_posture(&layout, Posture::FullAutonomy).unwrap(),
            });
            let text = std::fs::read_to_string(layout.config_yaml()).unwrap();
            for (key, value) in SET {
                assert!(text.contains(&format!("{key}: {value}")), "{key} was lost: {text}");
            }
            assert!(text.contains("posture: full-autonomy"), "{text}");
            let names: Vec<_> = std::fs::read_dir(layout.ratchet()).unwrap().collect();
            assert_eq!(names.len(), 1, "{names:?}");
        }
    }

    fn configured(text: &str) -> ProjectConfig {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        std::fs::create_dir(layout.ratchet()).unwrap();
        std::fs::write(layout.config_yaml(), text).unwrap();
        read_project(&layout).unwrap()
    }

    // C-M19
    #[test]
    fn a_bad_field_is_left_out_and_hides_no_other() {
        let config = configured(
            "schema: ' '\ncontext: small shop\nrules:\n  plan: [short, '', 3]\n  features: none\n  other: ['']\n",
        );
        assert_eq!(config.schema, DEFAULT_SCHEMA);
        assert_eq!(config.context.as_deref(), Some("small shop"));
        assert_eq!(config.rules, [("plan".to_owned(), vec!["short".to_owned()])].into());
        let named = ["schema: ", "rules.plan: ", "rules.features: "];
        for (warning, part) in config.warnings.iter().zip(named) {
            assert!(warning.contains(part), "{:?}", config.warnings);
        }
        assert_eq!(config.warnings.len(), 3);
        assert!(configured("rules: 1\ncontext: [a]\n").warnings.len() == 2);
    }

    // C-M19
    #[test]
    fn a_context_may_have_so_many_bytes() {
        let fits = "ä".repeat(LONGEST_CONTEXT / 2);
        assert_eq!(configured(&format!("context: {fits}\n")).context.as_ref(), Some(&fits));
        let config = configured(&format!("context: {fits}x\n"));
        assert_eq!(config.context, None);
        assert!(config.warnings[0].contains("51201 bytes"), "{:?}", config.warnings);
    }

    #[test]
    fn a_configuration_of_any_size_is_refused_and_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        std::fs::create_dir(layout.ratchet()).unwrap();
        std::fs::File::create(layout.config_yaml()).unwrap().set_len(1 << 40).unwrap();
        let error = read_project(&layout).unwrap_err();
        assert!(matches!(error, FileError::TooLarge { .. }), "{error}");
        let warnings = read_user(Some(&layout.config_yaml())).warnings;
        assert!(warnings[0].ends_with("it is larger than 4 MiB; ignored"), "{warnings:?}");
    }
}
