//! The oracle without a fault: green every time, or nothing that follows means anything.

use super::site::Site;
use super::{HarnessError, Ledger, Plan, Progress, UNKNOWN_ORACLE_MS, oracle_failed};
use crate::call::{CannotRun, Command, Ran, Shell};
use crate::mutation::outcomes::Baseline;

/// Runs the oracle in every place at once, and then again in the first until it ran often enough. Each place is restored
/// whatever happens. `Ok(Err)` is the reason why it is not green.
pub(super) fn green(
    plan: &Plan<'_>,
    shell: &dyn Shell,
    ledger: &dyn Ledger,
    sites: &mut [Box<dyn Site + '_>],
) -> Result<Result<Baseline, String>, HarnessError> {
    let mut baseline = Baseline::default();
    let runs = std::thread::scope(|scope| {
        let begun: Vec<_> =
            sites.iter_mut().map(|site| scope.spawn(|| once(plan, shell, site.as_mut()))).collect();
        let joined = begun.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|panic| {
                std::panic::resume_unwind(panic);
            })
        });
        joined.collect::<Vec<_>>()
    });
    for run in runs {
        if let Err(reason) = enter(plan, ledger, &mut baseline, run?) {
            return Ok(Err(reason));
        }
    }
    while baseline.runs < plan.baseline_runs {
        let Some(site) = sites.first_mut() else { break };
        let ran = once(plan, shell, site.as_mut())?;
        if let Err(reason) = enter(plan, ledger, &mut baseline, ran) {
            return Ok(Err(reason));
        }
    }
    baseline.wall_limit_ms = plan.limits.oracle_ms_after(baseline.slowest_ms);
    Ok(Ok(baseline))
}

fn once(plan: &Plan<'_>, shell: &dyn Shell, site: &mut dyn Site) -> Result<Ran, HarnessError> {
    let limits = plan.limits.oracle(UNKNOWN_ORACLE_MS);
    let command = Command { script: &plan.mutation.test, cwd: site.project(), limits };
    let ran: Result<Ran, CannotRun> = shell.run(&command);
    // What a green run has built is worth keeping; what a red one has left is not.
    if ran.as_ref().is_ok_and(Ran::passed) {
        site.adopt()?
    } else {
        site.reset()?
    }
    ran.map_err(oracle_failed)
}

fn enter(
    plan: &Plan<'_>,
    ledger: &dyn Ledger,
    baseline: &mut Baseline,
    ran: Ran,
) -> Result<(), String> {
    ledger.tell(&Progress::Baseline { green: ran.passed(), took_ms: ran.took_ms });
    baseline.slowest_ms = baseline.slowest_ms.max(ran.took_ms);
    if ran.passed() {
        baseline.runs += 1;
        return Ok(());
    }
    let before = match baseline.runs {
        0 => String::new(),
        green => format!(" after {green} green run(s): it is flaky"),
    };
    let said = ran.excerpt();
    let said = if said.is_empty() { said } else { format!("\n{said}") };
    Err(format!("`{}` gave {}{before}{said}", plan.mutation.test, ran.ended.words()))
}
