//! Looks at the files of a run state before anything is spent: what an agent did must not be lost because of a file into
//! which it cannot be written.
//!
//! What is in the files is the readers' business; they read past anything.

use std::fs::File;

use super::file::{Doing, FileError, Of as _, check_regular, folder_of};
use super::layout::RunDir;

/// Makes sure that the outcome of a step can be recorded: every file is a regular one or not there yet, and may be
/// written.
///
/// # Errors
/// Names the first file that cannot be used.
pub fn check_run_dir(run: &RunDir) -> Result<(), FileError> {
    for path in [run.journal(), run.state(), run.inflight()] {
        check_regular(&path, Doing::Write)?;
    }
    let journal = run.journal();
    if journal.exists() {
        File::options().append(true).open(&journal).of(&journal, Doing::Write)?;
    }
    // This one is replaced, perhaps behind a link, so its folder has to take a new file.
    if let Ok(state) = run.state().canonicalize() {
        let folder = folder_of(&state);
        rustix::fs::access(folder, rustix::fs::Access::WRITE_OK)
            .map_err(Into::into)
            .of(&run.state(), Doing::Write)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;
    use crate::store::testing::Scene;

    fn pipe(path: &Path) {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }

    #[test]
    fn files_into_which_no_outcome_can_be_written_are_found_before_a_step() {
        let folder = |path: &Path| fs::create_dir(path).unwrap();
        let link = |path: &Path| symlink("gone/away", path).unwrap();
        let kinds: [&dyn Fn(&Path); 3] = [&folder, &link, &pipe];
        for befall in kinds {
            for file in ["state.json", "journal.jsonl", "inflight.json"] {
                let scene = Scene::with_journal(b"{}\n");
                let run = scene.run();
                check_run_dir(&run).unwrap();
                let path = run.dir().join(file);
                let _absent = fs::remove_file(&path);
                befall(&path);
                let error = check_run_dir(&run).unwrap_err();
                assert_eq!(error.path(), path, "{error}");
            }
        }
    }

    #[test]
    fn a_run_state_that_is_not_there_yet_or_is_kept_elsewhere_is_fine() {
        let scene = Scene::new();
        check_run_dir(&scene.run()).unwrap();
        fs::create_dir(scene.run().dir()).unwrap();
        let kept = scene.layout.root().join("kept.json");
        fs::write(&kept, "{}").unwrap();
        symlink(&kept, scene.run().state()).unwrap();
        check_run_dir(&scene.run()).unwrap();
    }
}
