//! Workflows as they lie on disk: the project's own, the user's, and the one that comes with ratchet (spec `cli-core` 3.4
//! and 7.4). What a workflow must say is decided in [`ratchet_engine::schema`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ratchet_engine::schema::{self, Schema, SchemaError};
use thiserror::Error;

use super::change::names_in;
use super::file::{FileError, Limit, read_if_there};
use super::layout::{self, Layout};
use super::settings::DEFAULT_SCHEMA;
use crate::environment::Environment;

const BUNDLED: &str = include_str!("workflow/ratchet/schema.yaml");

/// The templates that come with ratchet; a project's or a user's workflow may have others of the same names.
const TEMPLATES: [(&str, &str); 4] = [
    ("batch.yaml", super::super::project::SCAFFOLD),
    ("feature.feature", include_str!("workflow/ratchet/feature.feature")),
    ("plan.md", include_str!("workflow/ratchet/plan.md")),
    ("standard.md", include_str!("workflow/ratchet/standard.md")),
];

/// A workflow that was found.
#[derive(Debug, Clone)]
pub struct Workflow {
    /// What it says.
    pub schema: Schema,
    /// Its folder; `None` for the one that comes with ratchet.
    folder: Option<PathBuf>,
}

/// Why there is no workflow to work by.
#[derive(Debug, Error)]
pub enum WorkflowError {
    /// None of that name is anywhere.
    #[error("Schema '{name}' not found. Available schemas: {}", known.join(", "))]
    NotFound {
        /// The name that was given.
        name: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// Its file is none.
    #[error("{} is no workflow", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: SchemaError,
    },
    /// Its file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Finds a workflow by its name, which may end in `.yaml` or `.yml`: the project's own, else the user's, else ours.
///
/// # Errors
/// [`WorkflowError`].
pub fn load(
    layout: &Layout,
    environment: &Environment,
    name: &str,
) -> Result<Workflow, WorkflowError> {
    let bare = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or(name);
    if is_plain(bare) {
        for folder in homes(layout, environment).map(|home| home.join(bare)) {
            let path = folder.join("schema.yaml");
            if let Some(bytes) = read_if_there(&path, Limit::CONFIG)? {
                let schema = schema::parse(&bytes)
                    .map_err(|error| WorkflowError::Invalid { path, error })?;
                return Ok(Workflow { schema, folder: Some(folder) });
            }
        }
        if bare == DEFAULT_SCHEMA {
            return Ok(bundled());
        }
    }
    Err(WorkflowError::NotFound { name: name.to_owned(), known: names(layout, environment) })
}

/// Lists the names of all workflows, each once, sorted.
#[must_use]
pub fn names(layout: &Layout, environment: &Environment) -> Vec<String> {
    let mut names = BTreeSet::from([DEFAULT_SCHEMA.to_owned()]);
    for home in homes(layout, environment) {
        let is_workflow = |name: &String| home.join(name).join("schema.yaml").is_file();
        names.extend(names_in(&home).unwrap_or_default().into_iter().filter(is_workflow));
    }
    names.into_iter().collect()
}

impl Workflow {
    /// Reads one of its templates: by its file's name, or, if that has no dot, by its name without the usual ends.
    ///
    /// # Errors
    /// Fails if the file is there and cannot be read.
    pub fn template(&self, name: &str) -> Result<Option<String>, FileError> {
        if !is_plain(name) {
            return Ok(None);
        }
        let ends: &[&str] =
            if name.contains('.') { &[""] } else { &[".md", ".feature", ".yaml", ".yml"] };
        let files: Vec<String> = ends.iter().map(|end| format!("{name}{end}")).collect();
        if let Some(folder) = &self.folder {
            for file in &files {
                let path = folder.join("templates").join(file);
                if let Some(bytes) = read_if_there(&path, Limit::TEXT)? {
                    return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
                }
            }
        }
        let ours = TEMPLATES.iter().find(|(file, _)| files.iter().any(|wanted| wanted == file));
        Ok(ours.map(|(_, text)| (*text).to_owned()))
    }
}

fn bundled() -> Workflow {
    let schema = schema::parse(BUNDLED.as_bytes()).expect("ours is tested");
    Workflow { schema, folder: None }
}

fn homes(layout: &Layout, environment: &Environment) -> impl Iterator<Item = PathBuf> {
    std::iter::once(layout.schemas()).chain(layout::user_schemas(environment))
}

/// A name that stays in its folder.
fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == name) && !name.contains('\\')
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Scene {
        dir: tempfile::TempDir,
        layout: Layout,
        environment: Environment,
    }

    impl Scene {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let home = dir.path().join("home");
            let environment = Environment::new(dir.path(), [("HOME", &home)]);
            Self { layout: Layout::new(dir.path().join("project")), environment, dir }
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn load(&self, name: &str) -> Result<Workflow, WorkflowError> {
            load(&self.layout, &self.environment, name)
        }
    }

    fn of(id: &str) -> String {
        format!(
            "name: w\nversion: 1\nartifacts: [{{id: {id}, generates: a, description: d, template: {id}.md}}]\n"
        )
    }

    const USERS: &str = "home/.local/share/ratchet/schemas";

    // C-N04
    #[test]
    fn the_projects_workflow_goes_before_the_users_and_that_before_ours() {
        let scene = Scene::new();
        let first =
            |scene: &Scene| scene.load("ratchet.yml").unwrap().schema.artifacts[0].id.clone();
        assert_eq!(first(&scene), "features");
        scene.put(&format!("{USERS}/ratchet/schema.yaml"), &of("mine"));
        assert_eq!(first(&scene), "mine");
        scene.put("project/.ratchet/schemas/ratchet/schema.yaml", &of("ours"));
        assert_eq!(first(&scene), "ours");
        scene.put(&format!("{USERS}/quick/schema.yaml"), &of("x"));
        fs::create_dir_all(scene.layout.schemas().join("empty")).unwrap();
        assert_eq!(names(&scene.layout, &scene.environment), ["quick", "ratchet"]);
    }

    // C-N04
    #[test]
    fn a_workflow_that_is_none_names_its_file_and_one_that_is_nowhere_the_others() {
        let scene = Scene::new();
        scene.put("project/.ratchet/schemas/bad/schema.yaml", "name: x\n");
        let error = scene.load("bad").unwrap_err().to_string();
        assert!(error.ends_with("schemas/bad/schema.yaml is no workflow"), "{error}");
        for name in ["gone", "../bad", "", "/", "a/b", ".."] {
            let error = scene.load(name).unwrap_err().to_string();
            let expected = format!("Schema '{name}' not found. Available schemas: bad, ratchet");
            assert_eq!(error, expected);
        }
    }

    // C-K15
    #[test]
    fn a_template_is_found_by_its_file_or_by_its_bare_name() {
        let scene = Scene::new();
        let ours = scene.load("ratchet").unwrap();
        for name in ["standard", "standard.md", "plan", "feature", "feature.feature", "batch"] {
            assert!(ours.template(name).unwrap().is_some(), "{name}");
        }
        for name in ["nope", "../schema", "plan.txt", "", "/etc/passwd"] {
            assert!(ours.template(name).unwrap().is_none(), "{name}");
        }
        scene.put("project/.ratchet/schemas/ratchet/schema.yaml", &of("a"));
        scene.put("project/.ratchet/schemas/ratchet/templates/plan.md", "my plan");
        let mine = scene.load("ratchet").unwrap();
        assert_eq!(mine.template("plan").unwrap().as_deref(), Some("my plan"));
        assert!(mine.template("standard").unwrap().is_some(), "what it lacks is ours");
    }

    #[test]
    fn our_own_workflow_has_all_its_templates_and_they_are_valid() {
        let ours = bundled();
        assert_eq!(ours.schema.ids().collect::<Vec<_>>(), ["features", "plan"]);
        for artifact in &ours.schema.artifacts {
            assert!(ours.template(&artifact.template).unwrap().is_some(), "{}", artifact.template);
        }
        let feature = ours.template("feature").unwrap().unwrap();
        assert_eq!(ratchet_engine::feature::check(&feature), []);
        let plan = ours.template("plan").unwrap().unwrap();
        assert_eq!(ratchet_engine::plan::check(&plan), []);
    }
}
