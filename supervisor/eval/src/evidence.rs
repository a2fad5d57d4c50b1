//! What is kept of a mutation invariant's attempts: each fault with what the oracle said about it, as soon as it is judged,
//! and in the end the outcome, by which the same run answers without doing anything again (spec `mutation-harness` 8).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::call::Ran;
use crate::harness::{Ledger, Progress};
use crate::invariant::InvariantOutcome;
use crate::mutation::Mutation;
use crate::mutation::attempt::Attempt;
use crate::mutation::outcomes::Outcomes;
use crate::mutation::stryker;
use crate::place::{Place, read, to_json, write_json, write_quickly};
use crate::run_id::RunId;

/// The folder of one invariant's evidence in one run.
pub struct Evidence<'a> {
    place: &'a Place,
    folder: PathBuf,
    tell: &'a (dyn Fn(&Progress) + Sync),
}

/// How a run of the harness began: what is needed to go on with it, and to run a mutant again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Beginning {
    /// The invariant.
    pub invariant: String,
    /// The oracle.
    pub test: String,
    /// Attempts at most.
    pub budget: u32,
    /// Mutants needed.
    pub threshold: u32,
    /// The commit that the faults are planted on.
    pub commit: String,
}

/// A stored outcome.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    outcome: InvariantOutcome,
    /// What identifies the definition it was found for.
    digest: String,
}

/// What is remembered of an invariant in this run.
#[derive(Debug)]
pub enum Memory {
    /// Nothing.
    None,
    /// Its outcome.
    Outcome(Box<InvariantOutcome>),
    /// Something that does not count; the text says why.
    Useless(String),
}

impl std::fmt::Debug for Evidence<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evidence").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl<'a> Evidence<'a> {
    /// Names the folder; nothing is made.
    #[must_use]
    pub fn new(
        place: &'a Place,
        run: &RunId,
        invariant: &str,
        tell: &'a (dyn Fn(&Progress) + Sync),
    ) -> Self {
        Self { place, folder: place.evidence(run, invariant), tell }
    }

    /// Looks for an outcome. One that cannot be read, or is of another definition, is moved aside and never a pass.
    ///
    /// # Errors
    /// The disk's.
    pub fn memory(&self, mutation: &Mutation) -> io::Result<Memory> {
        let file = self.folder.join(OUTCOME);
        let Some(bytes) = read(&file)? else { return Ok(Memory::None) };
        let why = match serde_json::from_slice::<Stored>(&bytes) {
            Ok(stored) if stored.digest == mutation.digest() => {
                return Ok(Memory::Outcome(Box::new(stored.outcome)));
            }
            Ok(_) => "an outcome of another definition of this invariant was put aside",
            Err(_) => "an outcome that cannot be read was put aside",
        };
        fs::rename(&file, self.folder.join("outcome.json.aside"))?;
        Ok(Memory::Useless(why.to_owned()))
    }

    /// Keeps how a run began.
    ///
    /// # Errors
    /// The disk's.
    pub fn begin(&self, beginning: &Beginning) -> io::Result<()> {
        write_json(&self.folder.join(BEGINNING), beginning)
    }

    /// Reads how a run began; `None` if it never did.
    ///
    /// # Errors
    /// The disk's, and `InvalidData`.
    pub fn beginning(&self) -> io::Result<Option<Beginning>> {
        read_json(&self.folder.join(BEGINNING))
    }

    /// Reads the attempts that were kept, in order. One that a power cut has left in pieces was not made.
    ///
    /// # Errors
    /// The disk's.
    pub fn attempts(&self) -> io::Result<Vec<Attempt>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut attempts = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with("attempt-") && name.ends_with(".json") {
                let bytes = fs::read(&path)?;
                let found = serde_json::from_slice::<Attempt>(&bytes).ok();
                attempts.extend(found.filter(|attempt| self.is_whole(attempt)));
            }
        }
        attempts.sort_by_key(|attempt| attempt.index);
        Ok(attempts)
    }

    fn is_whole(&self, attempt: &Attempt) -> bool {
        let has = |path: &Option<String>| {
            path.as_ref().is_none_or(|path| {
                fs::metadata(self.place.root().join(path)).is_ok_and(|file| file.len() > 0)
            })
        };
        has(&attempt.diff_path) && has(&attempt.log_path)
    }

    /// Reads a fault.
    ///
    /// # Errors
    /// The disk's.
    pub fn diff(&self, index: u32) -> io::Result<Option<Vec<u8>>> {
        read(&self.diff_file(index))
    }

    /// Keeps the outcome, last of all.
    ///
    /// # Errors
    /// The disk's.
    pub fn finish(&self, mutation: &Mutation, outcome: &InvariantOutcome) -> io::Result<()> {
        // From here on the outcome stands for them.
        for entry in fs::read_dir(&self.folder)? {
            fs::File::open(entry?.path())?.sync_data()?;
        }
        let stored = Stored { outcome: outcome.clone(), digest: mutation.digest() };
        write_json(&self.folder.join(OUTCOME), &stored)
    }

    /// Writes the reports for other programs.
    ///
    /// # Errors
    /// The disk's.
    pub fn report(
        &self,
        outcomes: &Outcomes,
        source: &dyn Fn(&str) -> Option<String>,
    ) -> io::Result<()> {
        write_json(&self.folder.join("outcomes.json"), outcomes)?;
        let report = stryker::report(outcomes, source);
        write_json(&self.folder.join("mutation-report.json"), &report)
    }

    /// Returns the folder, from the project's root.
    #[must_use]
    pub fn folder(&self) -> String {
        self.place.relative(&self.folder)
    }

    fn diff_file(&self, index: u32) -> PathBuf {
        self.folder.join(format!("mutant-{index}.diff"))
    }
}

const OUTCOME: &str = "outcome.json";
const BEGINNING: &str = "beginning.json";

impl Ledger for Evidence<'_> {
    fn keep(&self, attempt: &mut Attempt, diff: &[u8], ran: Option<&Ran>) -> io::Result<()> {
        let index = attempt.index;
        if !diff.is_empty() {
            let file = self.diff_file(index);
            write_quickly(&file, diff)?;
            attempt.diff_path = Some(self.place.relative(&file));
        }
        if let Some(ran) = ran {
            let file = self.folder.join(format!("mutant-{index}.log"));
            write_quickly(&file, &log(ran))?;
            attempt.log_path = Some(self.place.relative(&file));
        }
        // Last: an attempt counts as made only when all of it is there.
        write_quickly(&self.folder.join(format!("attempt-{index}.json")), &to_json(attempt)?)
    }

    fn tell(&self, progress: &Progress) {
        (self.tell)(progress);
    }
}

fn log(ran: &Ran) -> Vec<u8> {
    let code = ran.code().map_or_else(|| "null".to_owned(), |code| code.to_string());
    let mut text = format!("exit code: {code}\n").into_bytes();
    if ran.code().is_none() {
        text.extend_from_slice(format!("ended by: {}\n", ran.ended.words()).as_bytes());
    }
    text.extend_from_slice(b"\n--- stdout ---\n");
    text.extend_from_slice(&ran.stdout);
    text.extend_from_slice(b"\n--- stderr ---\n");
    text.extend_from_slice(&ran.stderr);
    text
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    let Some(bytes) = read(path)? else { return Ok(None) };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariant::Status;
    use crate::mutation::attempt::Verdict;

    fn mutation(test: &str) -> Mutation {
        Mutation { id: "m".into(), test: test.into(), budget: 1, threshold: 1 }
    }

    fn outcome() -> InvariantOutcome {
        InvariantOutcome {
            id: "m".into(),
            kind: "mutation".into(),
            status: Status::Fail,
            measure: "x".into(),
            evidence: "y".into(),
            artifacts: None,
        }
    }

    // E-B02
    #[test]
    fn a_mutant_has_its_diff_verbatim_and_what_the_oracle_said() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path());
        let run = RunId::parse("r").unwrap();
        let evidence = Evidence::new(&place, &run, "m", &|_| {});
        let mut attempt = Attempt {
            files: vec!["a".into()],
            line: 1,
            fingerprint: "f".into(),
            ..Attempt::bare(2, Verdict::Survived)
        };
        let ran = Ran { stdout: b"out".to_vec(), stderr: b"\xff err".to_vec(), ..Ran::default() };
        evidence.keep(&mut attempt, b"diff \xff\n", Some(&ran)).unwrap();
        let diff = folder.path().join(attempt.diff_path.as_ref().unwrap());
        assert!(diff.ends_with(".ratchet/evals/runs/r/artifacts/invariants/m/mutant-2.diff"));
        assert_eq!(fs::read(diff).unwrap(), b"diff \xff\n");
        let log = fs::read(folder.path().join(attempt.log_path.as_ref().unwrap())).unwrap();
        assert!(log.starts_with(b"exit code: 0\n\n--- stdout ---\nout\n--- stderr ---\n\xff err"));
        assert_eq!(evidence.attempts().unwrap(), [attempt]);
        write_quickly(&evidence.diff_file(2), b"").unwrap();
        assert_eq!(evidence.attempts().unwrap(), [], "a power cut came between");
    }

    // E-B08
    #[test]
    fn an_outcome_is_remembered_for_its_definition_only() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path());
        let run = RunId::parse("r").unwrap();
        let evidence = Evidence::new(&place, &run, "m", &|_| {});
        assert!(matches!(evidence.memory(&mutation("t")).unwrap(), Memory::None));
        fs::create_dir_all(&evidence.folder).unwrap();
        evidence.finish(&mutation("t"), &outcome()).unwrap();
        match evidence.memory(&mutation("t")).unwrap() {
            Memory::Outcome(found) => assert_eq!(*found, outcome()),
            other => panic!("{other:?}"),
        }
        assert!(matches!(evidence.memory(&mutation("other")).unwrap(), Memory::Useless(_)));
        assert!(matches!(evidence.memory(&mutation("t")).unwrap(), Memory::None), "put aside");
        write_quickly(&evidence.folder.join(OUTCOME), b"{\"status\": \"pass\"").unwrap();
        assert!(matches!(evidence.memory(&mutation("t")).unwrap(), Memory::Useless(_)));
    }
}
