//! How the agent reports: the duty near the top, the commands at the end (spec `agents-and-runtimes` 6.4).

use super::quoted;
use crate::decide::Step;

/// Says near the top that the step has to end with a report.
pub(super) fn duty(step: &Step, ratchet: &str) -> String {
    format!(
        "The step ends with your report, and with nothing else. When it is complete, run:\n\n    {} \
         --complete '<summary>'\n\nWithout that report the step counts as unreported and is parked, \
         whatever you have done.",
        command(step, ratchet)
    )
}

/// Lists the report commands.
pub(super) fn commands(step: &Step, ratchet: &str) -> String {
    let report = command(step, ratchet);
    format!(
        "Nobody can answer you while you work; these commands are how you speak. Put the message in \
         single quotes, and no backquotes, dollar signs or single quotes into it.\n\
         \n    {report} --status '<what you are doing>'\
         \n    {report} --blocker '<what stops you>'\
         \n    {report} --needs-input '<the decision you need>'\
         \n    {report} --complete '<summary>'\n\
         \nIf you are stuck or have to guess, report a blocker or ask for input, and stop. Report \
         completion only when the step is really done: the claim is checked against the disk."
    )
}

fn command(step: &Step, ratchet: &str) -> String {
    let ratchet = quoted(ratchet);
    let key = quoted(step.key.as_str());
    match &step.batch {
        Some(batch) => {
            format!("{ratchet} batch report {} --change {key}", quoted(batch.as_str()))
        }
        None => format!("{ratchet} report {key}"),
    }
}
