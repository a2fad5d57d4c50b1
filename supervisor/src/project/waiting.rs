//! What a step waits for, for a caller that has just seen it halt.

use ratchet_engine::name::StepKey;
use ratchet_engine::park::Park;

use super::Project;
use crate::error::Error;
use crate::store::layout::RunHome;
use crate::store::run_state::RunState;

impl Project {
    /// Returns the park that holds a step until a person acts; `None` if nothing does.
    ///
    /// # Errors
    /// Fails if the run state is there and cannot be read.
    pub fn unresolved_park(&self, home: &RunHome, key: &StepKey) -> Result<Option<Park>, Error> {
        let park = RunState::read(&self.layout().run(home))?.park(key);
        Ok(park.filter(Park::is_unresolved))
    }
}
