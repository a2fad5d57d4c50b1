//! What a step, or one apply, came to.

use ratchet_engine::decide::Idle;
use ratchet_engine::name::{PhaseName, SpawnId, StepKey};
use ratchet_engine::outcome::{Cause, StepResult, StepState};
use ratchet_engine::report::{ApplyReport, NothingReport, ParkedReport, ProofReport, Waiting};
use ratchet_engine::time::Timestamp;
use ratchet_engine::usage::budget::Overspent;
use ratchet_proto::supervisor::v1 as wire;
use ratchet_proto::supervisor::v1::apply_report::Report;

use super::{FromWire, IntoWire, Malformed, count, from_word, kind_of_wire, kind_to_wire, word};

impl IntoWire for ApplyReport {
    type Message = wire::ApplyReport;

    fn into_wire(self) -> wire::ApplyReport {
        let report = match self {
            ApplyReport::Step(result) => Report::Step(result.into_wire()),
            ApplyReport::Parked(ParkedReport { first, others }) => {
                let waiting =
                    std::iter::once(first).chain(others).map(IntoWire::into_wire).collect();
                Report::Parked(wire::Parked { waiting })
            }
            ApplyReport::NothingReady(nothing) => Report::Idle(nothing.into_wire()),
            ApplyReport::Proof(proof) => Report::Proof(proof.into_wire()),
        };
        wire::ApplyReport { report: Some(report) }
    }
}

impl FromWire<wire::ApplyReport> for ApplyReport {
    fn from_wire(report: wire::ApplyReport) -> Result<Self, Malformed> {
        Ok(match report.report.ok_or_else(|| Malformed::missing("a report"))? {
            Report::Step(result) => Self::Step(StepResult::from_wire(result)?),
            Report::Parked(parked) => {
                let mut waiting = parked.waiting.into_iter().map(Waiting::from_wire);
                let first = waiting.next().ok_or_else(|| Malformed::missing("a parked step"))??;
                let others = waiting.collect::<Result<_, _>>()?;
                Self::Parked(ParkedReport { first, others })
            }
            Report::Idle(idle) => Self::NothingReady(NothingReport::from_wire(idle)?),
            Report::Proof(proof) => Self::Proof(ProofReport::from_wire(proof)?),
        })
    }
}

impl IntoWire for NothingReport {
    type Message = wire::Idle;

    fn into_wire(self) -> wire::Idle {
        let bare = |reason: wire::IdleReason| wire::Idle {
            reason: reason.into(),
            message: self.message,
            hint: self.hint,
            ..wire::Idle::default()
        };
        match self.why {
            Idle::Done => bare(wire::IdleReason::Done),
            Idle::NothingReady => bare(wire::IdleReason::NothingReady),
            Idle::FailedProof { phase, gated_by } => wire::Idle {
                phase: Some(phase.to_string()),
                gated_by: Some(gated_by),
                ..bare(wire::IdleReason::FailedProof)
            },
            Idle::OverBudget(overspent) => wire::Idle {
                overspent: Some(overspent.into_wire()),
                ..bare(wire::IdleReason::OverBudget)
            },
        }
    }
}

impl IntoWire for Waiting {
    type Message = wire::Waiting;

    fn into_wire(self) -> wire::Waiting {
        let Waiting { change, kind, reason, hint, cause, retry_at } = self;
        wire::Waiting {
            key: change.to_string(),
            reason,
            hint,
            kind: word(kind),
            cause: cause.map(word),
            retry_at: retry_at.map(|time| time.to_string()),
        }
    }
}

impl FromWire<wire::Waiting> for Waiting {
    fn from_wire(waiting: wire::Waiting) -> Result<Self, Malformed> {
        let wire::Waiting { key, reason, hint, kind, cause, retry_at } = waiting;
        Ok(Self {
            change: StepKey::from_text(&key),
            kind: from_word("a park of the kind", kind)?,
            reason,
            hint,
            cause: cause.map(cause_of_wire).transpose()?,
            retry_at: retry_at.map(time_of_wire).transpose()?,
        })
    }
}

impl FromWire<wire::Idle> for NothingReport {
    fn from_wire(idle: wire::Idle) -> Result<Self, Malformed> {
        let why = match idle.reason() {
            wire::IdleReason::Done => Idle::Done,
            wire::IdleReason::NothingReady => Idle::NothingReady,
            wire::IdleReason::FailedProof => Idle::FailedProof {
                phase: phase(&idle.phase.ok_or_else(|| Malformed::missing("the phase"))?)?,
                gated_by: idle.gated_by.ok_or_else(|| Malformed::missing("what gates"))?,
            },
            wire::IdleReason::OverBudget => {
                let overspent = idle.overspent.ok_or_else(|| Malformed::missing("the budget"))?;
                Idle::OverBudget(Overspent::from_wire(overspent)?)
            }
            wire::IdleReason::Unspecified => return Err(Malformed::missing("why it is idle")),
        };
        Ok(Self { why, message: idle.message, hint: idle.hint })
    }
}

fn cause_of_wire(cause: String) -> Result<Cause, Malformed> {
    from_word("the cause", cause)
}

fn time_of_wire(text: String) -> Result<Timestamp, Malformed> {
    Timestamp::parse(&text).ok_or_else(|| Malformed::new(format!("'{text}' is no time")))
}

fn phase(name: &str) -> Result<PhaseName, Malformed> {
    PhaseName::parse(name).map_err(|error| Malformed::new(format!("a phase's name: {error}")))
}

impl IntoWire for StepResult {
    type Message = wire::StepResult;

    fn into_wire(self) -> wire::StepResult {
        let state = match self.state {
            StepState::Advanced => wire::StepState::Advanced,
            StepState::Blocked => wire::StepState::Blocked,
            StepState::AwaitingApproval => wire::StepState::AwaitingApproval,
            StepState::NothingReady => wire::StepState::NothingReady,
        };
        let refs =
            |refs: Vec<usize>| wire::JournalRefs { indices: refs.into_iter().map(count).collect() };
        wire::StepResult {
            state: state.into(),
            key: self.change.to_string(),
            kind: kind_to_wire(self.transition).into(),
            blocker: self.blocker,
            approval_request: self.approval_request,
            detail: self.detail,
            journal_refs: self.journal_refs.map(refs),
            message: self.message,
            agent_override: self.agent_override,
            spawn_id: self.spawn_id.map(|spawn| spawn.to_string()),
            not_started: self.not_started,
            cause: self.cause.map(word),
            retry_at: self.retry_at.map(|time| time.to_string()),
            notes: self.notes,
        }
    }
}

impl FromWire<wire::StepResult> for StepResult {
    fn from_wire(result: wire::StepResult) -> Result<Self, Malformed> {
        let state = match result.state() {
            wire::StepState::Advanced => StepState::Advanced,
            wire::StepState::Blocked => StepState::Blocked,
            wire::StepState::AwaitingApproval => StepState::AwaitingApproval,
            wire::StepState::NothingReady => StepState::NothingReady,
            wire::StepState::Unspecified => return Err(Malformed::missing("the state of a step")),
        };
        let kind =
            kind_of_wire(result.kind()).ok_or_else(|| Malformed::missing("a step's kind"))?;
        let spawn_id = result.spawn_id.as_deref().map(SpawnId::parse).transpose();
        let index = |index| usize::try_from(index).map_err(|_| Malformed::new("a journal index"));
        Ok(Self {
            state,
            change: StepKey::from_text(&result.key),
            transition: kind,
            blocker: result.blocker,
            approval_request: result.approval_request,
            detail: result.detail,
            journal_refs: result
                .journal_refs
                .map(|refs| refs.indices.into_iter().map(index).collect())
                .transpose()?,
            message: result.message,
            agent_override: result.agent_override,
            not_started: result.not_started,
            cause: result.cause.map(cause_of_wire).transpose()?,
            retry_at: result.retry_at.map(time_of_wire).transpose()?,
            spawn_id: spawn_id.map_err(|error| Malformed::new(format!("a spawn's id: {error}")))?,
            notes: result.notes,
        })
    }
}

impl IntoWire for ProofReport {
    type Message = wire::ProofReport;

    fn into_wire(self) -> wire::ProofReport {
        wire::ProofReport {
            phase: self.phase.to_string(),
            kind: word(self.kind),
            passed: self.passed,
            gate_passed: self.gate_passed,
            policy: word(self.policy),
            reason: word(self.reason),
            detail: self.detail,
            condition_kind: self.condition_kind.map(word),
            matched_excerpt: self.matched_excerpt,
            hint: self.hint,
        }
    }
}

impl FromWire<wire::ProofReport> for ProofReport {
    fn from_wire(proof: wire::ProofReport) -> Result<Self, Malformed> {
        let condition = |condition| from_word("a condition of the kind", condition);
        Ok(Self {
            phase: phase(&proof.phase)?,
            kind: from_word("a proof of the kind", proof.kind)?,
            passed: proof.passed,
            gate_passed: proof.gate_passed,
            policy: from_word("the policy", proof.policy)?,
            reason: from_word("the reason", proof.reason)?,
            detail: proof.detail,
            condition_kind: proof.condition_kind.map(condition).transpose()?,
            matched_excerpt: proof.matched_excerpt,
            hint: proof.hint,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratchet_engine::manifest::ProofKind;
    use ratchet_engine::name::BatchName;
    use ratchet_engine::park::ParkKind;
    use ratchet_engine::proof::{ConditionKind, ProofReason};
    use ratchet_engine::settings::ProofPolicy;
    use ratchet_engine::settings::Scope;
    use ratchet_engine::transition::StepKind;
    use ratchet_engine::usage::budget::Amount;
    use ratchet_engine::usage::{Completeness, Usd};

    fn assert_crosses(report: ApplyReport) {
        let json = serde_json::to_string(&report).unwrap();
        let arrived = ApplyReport::from_wire(report.clone().into_wire()).unwrap();
        assert_eq!(serde_json::to_string(&arrived).unwrap(), json);
        assert_eq!(arrived, report);
    }

    #[test]
    fn reports_cross_the_wire_whole_so_that_their_json_is_the_same() {
        let bare = |state, kind| StepResult::new(state, StepKey::from_text("add-cart"), kind);
        for state in [
            StepState::Advanced,
            StepState::Blocked,
            StepState::AwaitingApproval,
            StepState::NothingReady,
        ] {
            for kind in StepKind::ALL {
                assert_crosses(ApplyReport::Step(bare(state, kind)));
            }
        }
        assert_crosses(ApplyReport::Step(StepResult {
            blocker: Some("why?".to_owned()),
            approval_request: Some(String::new()),
            detail: Some("tail\n".to_owned()),
            journal_refs: Some(vec![0, 3]),
            message: Some("said".to_owned()),
            agent_override: true,
            spawn_id: Some(SpawnId::parse("0192").unwrap()),
            not_started: true,
            cause: Some(Cause::OutOfMemory),
            retry_at: Timestamp::parse("2026-11-30T22:00:00.000Z"),
            notes: vec!["lingered".to_owned()],
            ..bare(StepState::Blocked, StepKind::Apply)
        }));
        let nothing = Some(Vec::new());
        assert_crosses(ApplyReport::Step(StepResult {
            journal_refs: nothing,
            ..bare(StepState::Advanced, StepKind::Pr)
        }));
        assert_crosses(ApplyReport::idle(&Idle::Done));
        assert_crosses(ApplyReport::idle(&Idle::NothingReady));
        let shut = Idle::FailedProof { phase: phase("p1").unwrap(), gated_by: "p1 (ran)".into() };
        let batch = BatchName::parse("shop").unwrap();
        let cents = |dollars| Usd::from_dollars(dollars).unwrap();
        for amount in [
            Amount::Cost { used: cents(1.234_567_891), limit: cents(1.1) },
            Amount::Tokens { used: 7, limit: 5 },
        ] {
            let overspent = Overspent {
                amount,
                completeness: Completeness::Partial,
                scope: Scope::Manifest,
                batch: batch.clone(),
            };
            assert_crosses(ApplyReport::idle(&Idle::OverBudget(overspent)).of_batch(&batch));
        }
        assert_crosses(ApplyReport::idle(&shut).of_batch(&batch));
    }

    #[test]
    fn parks_and_proofs_cross_the_wire_whole() {
        let waiting = |name: &str| Waiting {
            change: StepKey::from_text(name),
            kind: ParkKind::AwaitingApproval,
            cause: Some(Cause::Quota),
            retry_at: Timestamp::parse("2026-11-30T22:00:00.123Z"),
            reason: "blocked: hm".to_owned(),
            hint: "answer it".to_owned(),
        };
        let others = vec![waiting("b"), waiting("c")];
        assert_crosses(ApplyReport::Parked(ParkedReport { first: waiting("a"), others }));
        let proof = ProofReport {
            phase: PhaseName::parse("the loom").unwrap(),
            kind: ProofKind::Blackbox,
            passed: false,
            gate_passed: true,
            policy: ProofPolicy::Warn,
            reason: ProofReason::PassConditionUnmet,
            detail: "no".to_owned(),
            condition_kind: None,
            matched_excerpt: None,
            hint: Some("mend it".to_owned()),
        };
        assert_crosses(ApplyReport::Proof(ProofReport {
            condition_kind: Some(ConditionKind::Regex),
            matched_excerpt: Some("ok".to_owned()),
            reason: ProofReason::NonzeroExit,
            ..proof.clone()
        }));
        assert_crosses(ApplyReport::Proof(proof));
    }

    #[test]
    fn a_report_that_says_nothing_is_refused() {
        assert!(ApplyReport::from_wire(wire::ApplyReport { report: None }).is_err());
        assert!(StepResult::from_wire(wire::StepResult::default()).is_err());
        let none = wire::Parked { waiting: Vec::new() };
        let report = wire::ApplyReport { report: Some(Report::Parked(none)) };
        assert!(ApplyReport::from_wire(report).is_err());
    }
}
