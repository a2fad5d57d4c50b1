//! What a step waits for, for a caller that has just seen it halt.

use ratchet_engine::name::StepKey;
use ratchet_engine::park::{Park, Standing};

use super::Project;
use crate::error::Error;
use crate::store::layout::RunHome;
use crate::store::run_state::RunState;

impl Project {
    /// Returns the park of a step that has halted, unless a person has freed it; one that holds nobody, because the step
    /// simply runs again, too.
    ///
    /// # Errors
    /// Fails if the run state is there and cannot be read.
    pub fn halting_park(&self, home: &RunHome, key: &StepKey) -> Result<Option<Park>, Error> {
        let park = RunState::read(&self.layout().run(home))?.park(key);
        Ok(park.filter(|park| match park.standing() {
            Standing::Unresolved | Standing::Retry => true,
            Standing::Answered(_) | Standing::Approved | Standing::Rejected(_) => false,
        }))
    }
}
