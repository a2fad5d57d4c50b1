//! A project is set up, and brought up to date: `ratchet init` and `ratchet update` (spec `cli-core` 4 and 5).
//!
//! What a person is asked is the CLI's. What was written before is never lost ([`crate::store::generated_file`]).

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Project;
use crate::agent::command::Roots;
use crate::agent::tool::Tool;
use crate::environment::Environment;
use crate::error::Error;
use crate::store::file::{Created, Doing, Of as _};

mod profile;
mod refusal;
mod scaffold;
mod tools;

pub use profile::{Delivery, Profile, Selection};
pub use refusal::SetupError;
pub use tools::{ToolReport, parse_tools};

/// What a project is set up with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitRequest {
    /// The coding tools.
    pub tools: Vec<Tool>,
    /// `--profile`, in place of the user's.
    pub profile: Option<Profile>,
    /// Whether a configuration is written if there is none.
    pub config: ConfigFile,
}

/// Whether a configuration is written if there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigFile {
    /// It is.
    Written,
    /// It is not: nobody is there to say that it is wanted.
    LeftOut,
}

/// What `init` did; what it prints as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InitReport {
    /// The project's root.
    #[serde(serialize_with = "crate::lossy::path")]
    pub root: PathBuf,
    /// Whether it had been set up before.
    pub extended: bool,
    /// Each tool with its files.
    pub tools: Vec<ToolReport>,
    /// `.ratchet/config.yaml`.
    pub config: Kept,
    /// `.ratchet/evals/invariants.yaml`.
    pub invariants: Kept,
    /// Lines that were added to `.gitignore`.
    pub gitignore: Vec<&'static str>,
}

/// What became of a file that is written once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// It was written.
    Created,
    /// It was there.
    Kept,
    /// It was not there and is not.
    LeftOut,
}

impl From<Created> for Kept {
    fn from(created: Created) -> Self {
        match created {
            Created::Now => Self::Created,
            Created::Before => Self::Kept,
        }
    }
}

/// What `update` did; what it prints as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateReport {
    /// The version that the files are of now.
    pub version: &'static str,
    /// Tools whose files were written.
    pub updated: Vec<ToolReport>,
    /// Tools whose files were as they should be.
    pub up_to_date: Vec<&'static str>,
    /// Tools that are used here and have no files.
    pub new_tools: Vec<&'static str>,
}

/// Which tools `update` writes the files of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Those whose files are not as they should be.
    Stale,
    /// All that are set up.
    Any,
}

impl Project {
    /// Takes the folder that a project is to be set up in; one that is missing is made.
    ///
    /// # Errors
    /// [`SetupError::NotAFolder`], or a folder that cannot be made or written to.
    pub fn prepare(path: &Path, environment: Environment) -> Result<Self, Error> {
        let path = environment.cwd().join(path);
        if path.exists() && !path.is_dir() {
            return Err(SetupError::NotAFolder { path }.into());
        }
        fs::create_dir_all(&path).of(&path, Doing::MakeFolder)?;
        rustix::fs::access(&path, rustix::fs::Access::WRITE_OK)
            .map_err(Into::into)
            .of(&path, Doing::Write)?;
        Self::at(&path, environment)
    }

    /// Tells whether the project has been set up before.
    #[must_use]
    pub fn is_set_up(&self) -> bool {
        self.layout().ratchet().is_dir()
    }

    /// Sets the project up, or adds to it.
    ///
    /// # Errors
    /// Fails if ratchet's own files cannot be written. A tool whose files cannot be is told in the report.
    pub fn init(&self, request: &InitRequest) -> Result<InitReport, Error> {
        let extended = self.is_set_up();
        let layout = self.layout();
        for folder in
            [layout.features(), layout.standards(), layout.changes_archive(), layout.evals()]
        {
            fs::create_dir_all(&folder).of(&folder, Doing::MakeFolder)?;
        }
        let selection = self.selection(request.profile);
        let roots = self.roots();
        let write = |tool: &Tool| tools::write(*tool, &selection, &roots);
        Ok(InitReport {
            root: self.root().to_owned(),
            extended,
            tools: request.tools.iter().map(write).collect(),
            config: scaffold::config(layout, request.config)?,
            invariants: scaffold::invariants(layout)?.into(),
            gitignore: scaffold::gitignore(layout)?,
        })
    }

    /// Brings the files of the tools up to this version and to the user's profile.
    ///
    /// # Errors
    /// [`SetupError::NotSetUp`].
    pub fn update(&self, freshness: Freshness) -> Result<UpdateReport, Error> {
        if !self.is_set_up() {
            return Err(SetupError::NotSetUp.into());
        }
        let (selection, roots) = (self.selection(None), self.roots());
        let (mut updated, mut up_to_date) = (Vec::new(), Vec::new());
        for tool in self.tools_set_up() {
            if freshness == Freshness::Any || !tools::is_current(tool, &selection, &roots) {
                updated.push(tools::write(tool, &selection, &roots));
            } else {
                up_to_date.push(tool.id());
            }
        }
        let set_up = self.tools_set_up();
        let new_tools = self.tools_in_use().into_iter().filter(|tool| !set_up.contains(tool));
        Ok(UpdateReport {
            version: crate::agent::generated::VERSION,
            updated,
            up_to_date,
            new_tools: new_tools.map(Tool::id).collect(),
        })
    }

    /// Lists the tools that this project is worked on with.
    #[must_use]
    pub fn tools_in_use(&self) -> Vec<Tool> {
        tools::in_use(self.root())
    }

    /// Lists the tools that have files of ours.
    #[must_use]
    pub fn tools_set_up(&self) -> Vec<Tool> {
        tools::set_up(&self.roots())
    }

    /// Says what in the user's choice of workflows is ignored, and why; one line each.
    #[must_use]
    pub fn selection_warnings(&self) -> Vec<String> {
        self.selection(None).warnings
    }

    fn selection(&self, profile: Option<Profile>) -> Selection {
        Selection::of(&self.profile_file(), profile)
    }

    fn profile_file(&self) -> crate::store::profile::ProfileFile {
        let path = crate::store::layout::user_config(self.environment());
        crate::store::profile::read(path.as_deref())
    }

    fn roots(&self) -> Roots {
        Roots::of(self.root(), self.environment(), None)
    }
}
