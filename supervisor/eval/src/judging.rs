//! One case, judged: the sample is copied, the judge of its binding looks at it, and whatever goes wrong leaves the case
//! unjudged with the reason, never passed (spec `eval` 5, decision Q10).

use ratchet_engine::outcome::SessionEnd;

use crate::binding::{Binding, Judge, resolved};
use crate::call::{Agents, CannotRun, Command, Ended, Errand, Ran, Shell as _};
use crate::case::Case;
use crate::config::Config;
use crate::fixture::{FixtureError, Fixtures, ONE_HOUR_MS};
use crate::ground::Ground;
use crate::harness::Patience;
use crate::invariant::meets;
use crate::jury::{Clause, Verdict, Vote, decide};
use crate::record::CaseVerdict;
use crate::run_id::RunId;
use crate::shim::Bash;
use crate::{judge, web};

/// The evaluation was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stopped;

/// What judges need.
pub(crate) struct Bench<'a> {
    pub(crate) ground: &'a Ground<'a>,
    pub(crate) bash: &'a Bash<'a>,
    pub(crate) config: &'a Config,
    pub(crate) patience: Patience,
    pub(crate) run: &'a RunId,
}

impl Bench<'_> {
    /// Judges a case.
    pub(crate) fn judge(
        &self,
        fixtures: &mut Fixtures<'_>,
        case: &Case,
        binding: &Binding,
    ) -> Result<CaseVerdict, Stopped> {
        match self.look(fixtures, case, binding) {
            Ok(verdict) => Ok(verdict),
            Err(FixtureError::Stopped) => Err(Stopped),
            Err(FixtureError::Failed(why)) => {
                Ok(CaseVerdict::plain(Verdict::Unjudged, format!("could not be judged: {why}")))
            }
        }
    }

    fn look(
        &self,
        fixtures: &mut Fixtures<'_>,
        case: &Case,
        binding: &Binding,
    ) -> Result<CaseVerdict, FixtureError> {
        match &binding.judge {
            Judge::Deterministic { run, pass } => {
                let copy = fixtures.fresh(binding)?;
                let limits = self.patience.oracle(ONE_HOUR_MS);
                let command = Command { script: run, cwd: &copy, limits };
                let ran = self.bash.run(&command).map_err(unjudged)?;
                Ok(checked(pass, &ran))
            }
            Judge::LlmJudge { success, jury, rubric } => {
                let rubric = judge::rubric(rubric, case);
                let jury = resolved(jury, &self.config.jury);
                let prompt = judge::prompt(case, success, &rubric);
                let mut votes = Vec::new();
                for _ in 0..jury.votes {
                    // A judge may edit what it looks at, and the next one must not see that.
                    let copy = fixtures.fresh(binding)?;
                    let limits = self.patience.agent();
                    let errand = Errand { change: &case.id, prompt: &prompt, cwd: &copy, limits };
                    let ran = self.ground.ask(&errand).map_err(unjudged)?;
                    let answer = self.ground.staff.answer(&ran.stdout);
                    votes.push(judge::vote(&answer, &rubric));
                }
                let (verdict, clauses) = decide(&votes, jury.quorum);
                Ok(CaseVerdict::judged(verdict, rubric, clauses, votes))
            }
            Judge::Web { start, readiness, timeout_ms, spec } => {
                let copy = fixtures.fresh(binding)?;
                let site = web::Site { start, readiness, timeout_ms: *timeout_ms, spec };
                let seen = web::look(self.bash, &site, &copy, &self.patience).map_err(unjudged)?;
                let kept = seen.keep(&self.ground.place, self.run, &case.id);
                let vote = Vote { pass: seen.pass(), clauses: vec![seen.clause()] };
                let verdict = if vote.pass { Verdict::Pass } else { Verdict::Fail };
                let judged = CaseVerdict::judged(
                    verdict,
                    vec![seen.clause().clause],
                    vote.clauses.clone(),
                    vec![vote],
                );
                Ok(CaseVerdict { artifacts: kept, ..judged })
            }
        }
    }
}

fn unjudged(error: CannotRun) -> FixtureError {
    match error {
        CannotRun::Stopped => FixtureError::Stopped,
        CannotRun::Failed(why) => FixtureError::Failed(why),
    }
}

/// Judges a command by its pass condition.
fn checked(pass: &str, ran: &Ran) -> CaseVerdict {
    let (verdict, evidence) = match meets(pass, &session_end(&ran.ended), &ran.stdout) {
        Ok(()) => (Verdict::Pass, format!("check passed ({pass})")),
        Err(reason) => {
            let said = ran.excerpt();
            let said = if said.is_empty() { said } else { format!(": {said}") };
            (Verdict::Fail, format!("check failed ({reason}){said}"))
        }
    };
    let clause = Clause { clause: pass.to_owned(), pass: verdict == Verdict::Pass, evidence };
    let vote = Vote { pass: clause.pass, clauses: vec![clause.clone()] };
    CaseVerdict::judged(verdict, vec![pass.to_owned()], vec![clause], vec![vote])
}

/// Gives an end in the engine's words.
pub(crate) fn session_end(ended: &Ended) -> SessionEnd {
    match ended {
        Ended::Exited { code } => SessionEnd::Exited(*code),
        Ended::Signaled { signal } => SessionEnd::Signaled(signal.to_string()),
        Ended::TimedOut { limit, after_ms } => {
            SessionEnd::TimedOut { limit: limit.clone(), after_ms: *after_ms }
        }
        Ended::OutOfMemory => SessionEnd::OutOfMemory,
        Ended::OutputLimit { bytes } => SessionEnd::OutputLimit { bytes: *bytes },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(pass: &str, code: i32, stdout: &str) -> (Verdict, String) {
        let ran = Ran { ended: Ended::Exited { code }, stdout: stdout.into(), ..Ran::default() };
        let judged = checked(pass, &ran);
        (judged.verdict, judged.clauses.unwrap()[0].evidence.clone())
    }

    // E-F11
    #[test]
    fn a_command_is_judged_by_its_condition_and_prose_after_exit_zero_is_no_text() {
        assert_eq!(verdict("exit 0, and all is well", 0, "").0, Verdict::Pass);
        assert_eq!(verdict("contains:ok", 0, "all ok").0, Verdict::Pass);
        let (failed, why) = verdict("exit-zero", 3, "it broke");
        assert_eq!(
            (failed, why.as_str()),
            (Verdict::Fail, "check failed (nonzero-exit): it broke")
        );
        assert!(verdict("contains:ok", 0, "no").1.contains("pass-condition-unmet"));
    }
}
