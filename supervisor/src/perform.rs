//! Plan in, act out: one exhaustive match. What an act needs is worked out in [`intend`]; nothing is started here.

mod approved;
mod intend;
pub(crate) mod site;
mod standalone;

use ratchet_engine::decide::{self, Idle, Plan};
use ratchet_engine::report::ApplyReport;
use ratchet_engine::snapshot::Snapshot;
use ratchet_engine::usage::budget;
use ratchet_telemetry::TraceSpan;
use ratchet_telemetry::name::SpanName;

use crate::actor::message::Report;
use crate::error::Error;
use crate::event::{Notice, NoticeLevel};
use crate::fault::{self, Point};
use crate::house::House;
use crate::observe;
use crate::order::Order;
use crate::record;
use crate::request::{ApplyRequest, ChangeStepRequest, LimitPolicy};
use crate::store::check::check_run_dir;
use crate::store::layout::RunHome;

/// What a plan comes to.
pub(crate) enum Act {
    /// Nothing to start; this is the answer.
    Report(Box<Report>),
    /// One command to start.
    Spawn(Box<Order>),
}

impl Act {
    fn report(report: Report) -> Self {
        Self::Report(Box::new(report))
    }
}

/// Gathers and decides for a batch, then works out the act.
pub(crate) fn next(house: &House, home: &RunHome, request: &ApplyRequest) -> Result<Act, Error> {
    check_run_dir(&house.project.layout().run(home))?;
    let selected = house.trace.during(SpanName::Select, |span| select(house, request, span));
    let (snapshot, plan) = selected?;
    let settings = &snapshot.settings;
    match plan {
        Plan::Spawn(step) => {
            let context = intend::Context {
                settings,
                consent: request.agent_override,
                limits: request.limits,
            };
            match preflight(house, || intend::step(house, home, *step, &context))? {
                Ok(mut order) => {
                    order.notices.extend(doubts(house, &snapshot));
                    Ok(Act::Spawn(Box::new(order)))
                }
                Err(result) => {
                    record::refused(house, home, &result)?;
                    Ok(Act::report(Report::Applied(ApplyReport::Step(result))))
                }
            }
        }
        Plan::Prove(proving) => {
            let mut order = preflight(house, || intend::proof(house, home, proving, settings))?;
            order.notices.extend(doubts(house, &snapshot));
            Ok(Act::Spawn(Box::new(order)))
        }
        Plan::Parked(halts) => {
            let report = ApplyReport::parked(&halts)
                .unwrap_or_else(|| ApplyReport::idle(&Idle::NothingReady));
            Ok(Act::report(Report::Applied(report)))
        }
        Plan::Idle(idle) => Ok(Act::report(Report::Applied(ApplyReport::idle(&idle)))),
    }
}

/// Gathers, and decides once.
fn select(
    house: &House,
    request: &ApplyRequest,
    span: &TraceSpan,
) -> Result<(Snapshot, Plan), Error> {
    let environment = house.project.environment();
    let mut snapshot = house.project.snapshot(&request.batch, request.escalation)?;
    if request.limits == LimitPolicy::Ignored {
        snapshot.parks.retain(|_, park| !park.waits_for_a_moment());
    }
    fault::at(Point::Gathered, environment);
    let plan = decide::decide(&snapshot)
        .map_err(|error| Error::Dag { batch: request.batch.clone(), error })?;
    fault::at(Point::Decided, environment);
    observe::selected(&house.trace, span, &snapshot, &plan);
    Ok((snapshot, plan))
}

/// Works out what a spawn needs; its length is that of looking for the agent and of writing its command file.
fn preflight<T>(house: &House, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    house.trace.during(SpanName::Preflight, |_| work())
}

/// Tells what `validate` would refuse in the manifest, which plans cannot be read, and what a budget cannot see.
fn doubts(house: &House, snapshot: &Snapshot) -> Vec<Notice> {
    let manifest = snapshot.manifest.doubts.iter().map(|doubt| format!("batch.yaml: {doubt}"));
    let plans = house.project.file_warnings(snapshot);
    let budget = budget::blind_spot(&snapshot.settings, &snapshot.usage);
    let warning = |text| Notice { level: NoticeLevel::Warning, text };
    manifest.chain(plans).chain(budget).map(warning).collect()
}

/// Works out the act for one forced transition of a change on its own.
pub(crate) fn forced(
    house: &House,
    home: &RunHome,
    request: &ChangeStepRequest,
) -> Result<Act, Error> {
    check_run_dir(&house.project.layout().run(home))?;
    let prepared =
        house.trace.during(SpanName::Select, |_| standalone::prepare(house, home, request));
    let ready = match prepared? {
        standalone::Prepared::Ready(ready) => ready,
        standalone::Prepared::Parked(result) => return Ok(Act::report(Report::Stepped(*result))),
    };
    let context = intend::Context {
        settings: &ready.settings,
        consent: request.agent_override,
        limits: request.limits,
    };
    let step = ready.step;
    match preflight(house, || intend::step(house, home, step, &context))? {
        Ok(order) => Ok(Act::Spawn(Box::new(order))),
        Err(result) => {
            record::refused(house, home, &result)?;
            Ok(Act::report(Report::Stepped(result)))
        }
    }
}
