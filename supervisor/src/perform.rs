//! Plan in, act out: one exhaustive match. What an act needs is worked out in [`intend`]; nothing is started here.

mod approved;
mod intend;
mod standalone;

use ratchet_engine::decide::{self, Idle, Plan};
use ratchet_engine::report::ApplyReport;
use ratchet_engine::snapshot::Snapshot;

use crate::actor::message::Report;
use crate::error::Error;
use crate::event::{Notice, NoticeLevel};
use crate::fault::{self, Point};
use crate::house::House;
use crate::order::Order;
use crate::record;
use crate::request::{ApplyRequest, ChangeStepRequest};
use crate::store::check::check_run_dir;
use crate::store::layout::RunHome;

/// What a plan comes to.
pub(crate) enum Act {
    /// Nothing to start; this is the answer.
    Report(Report),
    /// One command to start.
    Spawn(Box<Order>),
}

/// Gathers and decides for a batch, then works out the act.
pub(crate) fn next(house: &House, home: &RunHome, request: &ApplyRequest) -> Result<Act, Error> {
    check_run_dir(&house.project.layout().run(home))?;
    let environment = house.project.environment();
    let snapshot = house.project.snapshot(&request.batch, request.escalation)?;
    fault::at(Point::Gathered, environment);
    let plan = decide::decide(&snapshot)
        .map_err(|error| Error::Dag { batch: request.batch.clone(), error })?;
    fault::at(Point::Decided, environment);
    let settings = &snapshot.settings;
    match plan {
        Plan::Spawn(step) => {
            let context = intend::Context { settings, consent: request.agent_override };
            match intend::step(house, home, *step, &context)? {
                Ok(mut order) => {
                    order.notices.extend(doubts(house, &snapshot));
                    Ok(Act::Spawn(Box::new(order)))
                }
                Err(result) => {
                    record::refused(house, home, &result)?;
                    Ok(Act::Report(Report::Applied(ApplyReport::Step(result))))
                }
            }
        }
        Plan::Prove(proving) => {
            let mut order = intend::proof(house, home, proving, settings)?;
            order.notices.extend(doubts(house, &snapshot));
            Ok(Act::Spawn(Box::new(order)))
        }
        Plan::Parked(halts) => {
            let report = ApplyReport::parked(&halts)
                .unwrap_or_else(|| ApplyReport::idle(&Idle::NothingReady));
            Ok(Act::Report(Report::Applied(report)))
        }
        Plan::Idle(idle) => Ok(Act::Report(Report::Applied(ApplyReport::idle(&idle)))),
    }
}

/// Tells what `validate` would refuse in the manifest, and which plans cannot be read.
fn doubts(house: &House, snapshot: &Snapshot) -> Vec<Notice> {
    let manifest = snapshot.manifest.doubts.iter().map(|doubt| format!("batch.yaml: {doubt}"));
    let plans = house.project.plan_warnings(snapshot);
    let warning = |text| Notice { level: NoticeLevel::Warning, text };
    manifest.chain(plans).map(warning).collect()
}

/// Works out the act for one forced transition of a change on its own.
pub(crate) fn forced(
    house: &House,
    home: &RunHome,
    request: &ChangeStepRequest,
) -> Result<Act, Error> {
    check_run_dir(&house.project.layout().run(home))?;
    let ready = match standalone::prepare(house, home, request)? {
        standalone::Prepared::Ready(ready) => ready,
        standalone::Prepared::Parked(result) => return Ok(Act::Report(Report::Stepped(result))),
    };
    let context = intend::Context { settings: &ready.settings, consent: request.agent_override };
    match intend::step(house, home, ready.step, &context)? {
        Ok(order) => Ok(Act::Spawn(Box::new(order))),
        Err(result) => {
            record::refused(house, home, &result)?;
            Ok(Act::Report(Report::Stepped(result)))
        }
    }
}
